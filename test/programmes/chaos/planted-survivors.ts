// Planted bugs of the kinds that a mutation tool makes: a wider or narrower comparison, a rounding the other way, a
// guard or a condition left out. A named test catches each.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const rounding = (title: string): NamedTest => ({ file: 'unit/domain/rounding.test.ts', title });
const falsehood = (title: string): NamedTest => ({ file: 'long/verify/verify-falsehoods.test.ts', title });
const undeliverable = (title: string): NamedTest => ({
  file: 'integration/orders/orders-undeliverable.test.ts',
  title,
});

const MONEY: readonly PlantedBug[] = [
  {
    name: 'a top-up whose answer was lost is to be repeated under another reference',
    changes: one(
      'modules/operator/credits.command.ts',
      'await repeatableWith(`--ref ${reference}`, topUp)',
      'await repeatableWith(`--ref ${randomUUID()}`, topUp)',
    ),
    test: {
      file: 'integration/operator/cli-lost-answers.test.ts',
      title: 'names the reference under which a repetition books nothing twice',
    },
  },
  {
    name: 'verify does not see that a project accepts other sources than an operator set',
    changes: one(
      'modules/verify/ledger-act-checks.ts',
      'WHERE f.value <> to_jsonb(p.allowed_sources) OR s.value',
      'WHERE s.value',
    ),
    test: falsehood('a restored account'),
  },
  {
    name: 'a rental that costs as much as burning counts as worth renting',
    changes: one(
      'domain/price.ts',
      'const fewest = price / burnOnce + 1n;',
      'const fewest = (price + burnOnce - 1n) / burnOnce;',
    ),
    test: rounding('needs one more use where a rental costs as much as burning'),
  },
  {
    name: 'uses of a rental are counted where burning costs nothing',
    changes: one('domain/price.ts', 'if (burnOnce <= 0n) return undefined;', 'if (burnOnce < 0n) return undefined;'),
    test: rounding('needs one more use where a rental costs as much as burning'),
  },
  {
    name: 'the dollars of a balance are cut off',
    changes: one('domain/conversion.ts', 'divHalfUp(amount, 100_000n)', '(amount / 100_000n)'),
    test: rounding('rounds the dollars of a balance to cents'),
  },
  {
    name: 'the dollars of a price are cut off',
    changes: one('domain/conversion.ts', 'divHalfUp(amount, 10n)', '(amount / 10n)'),
    test: rounding('rounds the dollars of a balance to cents'),
  },
  {
    name: 'a fee limit that is exactly the chain’s highest counts as too low',
    changes: one('domain/fee-limit.ts', 'needed <= maxFeeLimitSun', 'needed < maxFeeLimitSun'),
    test: {
      file: 'unit/quotes/fee-limit.test.ts',
      title: 'is not capped where the energy needs exactly the chain’s highest',
    },
  },
  {
    name: 'a long row may ask for half as much per day unnoticed',
    changes: one('domain/price.ts', 'const DAY_PRICE_PART = 2n;', 'const DAY_PRICE_PART = 1n;'),
    test: {
      file: 'unit/quotes/quotes.test.ts',
      title: 'warns the operator of a long row that asks less than half as much per day as a shorter one',
    },
  },
  {
    name: 'the list of another block counts as that of a block',
    changes: one(
      'platform/chain/block.ts',
      "if (int64(info['blockNumber']) !== BigInt(header.number)) {",
      "if (int64(info['blockNumber']) === undefined) {",
    ),
    test: { file: 'unit/chain/block.test.ts', title: 'is refused with an entry' },
  },
  {
    name: 'a failed transaction succeeded if it has no receipt',
    changes: one('platform/chain/block.ts', "return info['result'] !== 'FAILED' && (", 'return ('),
    test: { file: 'unit/chain/block.test.ts', title: 'tells failed transactions from those that succeeded' },
  },
  {
    name: 'payments in two tokens agree',
    changes: one('platform/blocks/agreed-payments.ts', "contract ?? '', ", ''),
    test: { file: 'unit/blocks/agreed-payments.test.ts', title: 'does not agree on a payment in two tokens' },
  },
  {
    name: 'a share of callers below 0 leaves the deployer nothing to pay',
    changes: one('domain/energy-share.ts', 'callerPercent < 0n ? 100n', 'callerPercent < 0n ? 0n'),
    test: rounding('rounds the share of a contract’s deployer down'),
  },
  {
    name: 'the share of a deployer is rounded up',
    changes: one('domain/energy-share.ts', '(total * percent) / 100n', '(total * percent + 99n) / 100n'),
    test: rounding('rounds the share of a contract’s deployer down'),
  },
  {
    name: 'the length of a long transaction takes a byte less',
    changes: one('modules/deposits/transfer-costs.ts', 'bytes < 16_384 ? 2 : 3', 'bytes <= 16_384 ? 2 : 3'),
    test: { file: 'unit/deposits/transfer-costs.test.ts', title: 'longer' },
  },
  {
    name: 'an address at its threshold is refilled',
    changes: one(
      'modules/auto-delegations/refill-plan.ts',
      'effective < terms.refillBelow ? refillOf',
      'effective <= terms.refillBelow ? refillOf',
    ),
    test: { file: 'unit/auto-delegations/refill-plan.test.ts', title: 'buys below the threshold, and neither at it' },
  },
  {
    name: 'a rental that ends with the need is replaced',
    changes: one('modules/auto-delegations/refill-plan.ts', 'endsAtMs < restsAtMs;', 'endsAtMs <= restsAtMs;'),
    test: { file: 'unit/auto-delegations/refill-plan.test.ts', title: 'buys below the threshold, and neither at it' },
  },
  {
    name: 'a deposit that one node reports waits for a rate',
    changes: one('modules/deposits/judgement.ts', "  if (!isAgreed) return held('one_node');\n", ''),
    test: rounding('holds a deposit that one of two nodes reports, whatever its rate'),
  },
];

const DELIVERY: readonly PlantedBug[] = [
  {
    name: 'a wallet sells for an hour after its last reading',
    changes: one('modules/pool/pool-sync.ts', "greatest(interval '60 seconds', 3", "greatest(interval '1 hour', 3"),
    test: undeliverable('refuses orders when no worker reads the wallets'),
  },
  {
    name: 'the reading of a wallet asks a node whose head is too old',
    changes: one(
      'platform/chain/node.ts',
      'headAgeMaxSec === 0 || (ageMs <= headAgeMaxSec * 1000 && ',
      'headAgeMaxSec === 0 || (',
    ),
    test: undeliverable('the node is behind'),
  },
  {
    name: 'the reading of a wallet asks a node whose head stands still',
    changes: one(
      'platform/chain/node.ts',
      'return this.stalledMs <= this.options.headStallSec * 1000;',
      'return this.stalledMs >= 0;',
    ),
    test: undeliverable('the chain has halted'),
  },
  {
    name: 'a reclaim that failed often is looked at again in an hour',
    changes: one(
      'modules/fulfilment/advance/reclaim-checks.ts',
      'pass.restAtMost(order, Math.min(restMs, CHECK_AGAIN_MS));',
      'pass.restAtMost(order, restMs);',
    ),
    test: {
      file: 'integration/fulfilment/fulfilment-ports.test.ts',
      title: 'that failed often is looked at again within a minute, also during an outage',
    },
  },
  {
    name: 'a reclaim rests on after the chain moves again',
    changes: one('modules/fulfilment/plan/reclaim-pace.ts', '  if (failed.lastAgeSec > movingSec) return 0;\n', ''),
    test: {
      file: 'integration/fulfilment/fulfilment-ports.test.ts',
      title: 'that failed often is looked at again within a minute, also during an outage',
    },
  },
  {
    name: 'a worker that was killed before it began searches to the head first',
    changes: one(
      'modules/fulfilment/loop/startup-gate.ts',
      'state.absent && !(await this.isScannedLately(state))',
      'state.absent',
    ),
    test: undeliverable('starts fulfilment near the head of the search'),
  },
  {
    name: 'payments by contracts count as visible for an hour after nodes showed one',
    changes: one('modules/deposits/deposit-terms.ts', "block_at - interval '1 minute'", "block_at - interval '1 hour'"),
    test: { file: 'integration/deposits/deposits-api.test.ts', title: 'says if payments by contracts are visible' },
  },
];

const PROOF: readonly PlantedBug[] = [
  {
    name: 'verify believes any reason for a closed leg',
    changes: one(
      'modules/verify/row-checks.ts',
      "OR (l.closed_reason IS NOT NULL AND l.kind <> 'activation' AND NOT ${HAS_ACT})",
      '',
    ),
    test: falsehood('a restored leg'),
  },
  {
    name: 'verify does not compare the number of a block with its id',
    changes: one('modules/verify/row-checks.ts', '<> ${NUMBER_IN_ID}))', "= ''))"),
    test: falsehood('a restored transaction'),
  },
  {
    name: 'verify misses acts without an entry',
    changes: one(
      'modules/verify/ledger-act-checks.ts',
      'WHERE e.id IS NULL AND NOT coalesce(p.test, false)`',
      'WHERE e.id IS NULL AND p.test`',
    ),
    test: falsehood('the restored ledger'),
  },
  {
    name: 'verify misses the events of orders that are gone',
    changes: one(
      'modules/verify/log-checks.ts',
      'WHERE e.order_id IS NOT NULL AND o.id IS NULL`',
      'WHERE e.order_id IS NULL AND o.id IS NOT NULL`',
    ),
    test: falsehood('a restored order'),
  },
  {
    name: 'verify compares no expiration',
    changes: one(
      'modules/verify/transaction-content.ts',
      'if (layout[1] !== varint(BigInt(expiresAt.getTime()))) return false;',
      '',
    ),
    test: falsehood('a restored transaction'),
  },
  {
    name: 'verify accepts the spending of another day',
    changes: one(
      'modules/verify/ledger-act-checks.ts',
      'a.spent_on <> c.last_day AND NOT c.is_play',
      'a.spent_on < c.day',
    ),
    test: falsehood('a restored account'),
  },
  {
    name: 'the deposit that reaches the limit of one node is held',
    changes: one(
      'modules/deposits/deposit-judge.ts',
      'const isOver = before + amount > limit;',
      'const isOver = before + amount >= limit;',
    ),
    test: {
      file: 'long/deposits/deposit-faults.test.ts',
      title: 'with one node only a limited sum is credited in a day automatically',
    },
  },
  {
    name: 'a source of bad signatures is forgotten too early',
    changes: one('modules/auth/bad-signatures.ts', 'SOURCES_MAX = 10_000', 'SOURCES_MAX = 9_999'),
    test: { file: 'unit/http/http.test.ts', title: 'are remembered for a bounded number of sources' },
  },
];

export const PLANTED_SURVIVORS: readonly PlantedBug[] = [...MONEY, ...DELIVERY, ...PROOF];
