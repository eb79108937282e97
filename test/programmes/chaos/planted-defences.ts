// Planted bugs that remove a defence: against outsiders on the chain, faulty nodes, exchanges, wallets that cannot
// deliver, foreign acts, or foreign locks. The test that motivated each defence must fail without it.
import { NEW_BLOCKS, one, SENDER, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const inTest =
  (file: string) =>
  (title: string): NamedTest => ({ file, title });
const integration = (name: string): ((title: string) => NamedTest) => inTest(`integration/${name}.test.ts`);
const long = (name: string): ((title: string) => NamedTest) => inTest(`long/${name}.test.ts`);

const AGAINST_FOREIGN: readonly PlantedBug[] = [
  {
    name: 'digits inside a text are taken for a number',
    changes: one(
      'platform/chain/json.ts',
      'LONG_DIGITS.test(text) ? exactJson(text) : plainJson(text)',
      `plainJson(text.replaceAll(/([:,[])(-?\\d{16,})(?=[,}\\]])/g, '$1"$2"'))`,
    ),
    test: inTest('unit/chain/chain-json.test.ts')('reads a block with a contract that is named like a long number'),
  },
  {
    name: 'long integers are rounded',
    changes: one(
      'platform/chain/json.ts',
      'LONG_DIGITS.test(text) ? exactJson(text) : plainJson(text)',
      'plainJson(text)',
    ),
    test: inTest('unit/chain/chain-json.test.ts')('keeps every int64 exact and every text unchanged'),
  },
  {
    name: 'heads come with all their transactions',
    changes: one('platform/chain/node-blocks.ts', `'getblock', { ...which, detail: false }`, `'getnowblock', {}`),
    test: integration('chain/node-blocks')('requests heads without their transactions'),
  },
  {
    name: 'a block is read by everyone who wants it',
    changes: one('platform/chain/node-blocks.ts', 'this.coming.set(key, coming);', ''),
    test: integration('chain/node-blocks')('reads a block once, for all users and both ports'),
  },
  {
    name: 'an act is the wallet owner’s whoever signed it',
    changes: one(
      'modules/verify/unrecorded-acts.ts',
      `return intersect(signers, await permitted) ? 'owner' : undefined;`,
      `return (await permitted).size > 0 ? 'owner' : undefined;`,
    ),
    test: long('fulfilment/lying-node')(
      'an act that names our wallet, and is signed by a key other than its own, belongs to nobody',
    ),
  },
];

const AGAINST_NODES: readonly PlantedBug[] = [
  {
    name: 'a fee that a node leaves out is zero',
    changes: [
      {
        file: 'platform/chain/chain-parameters.ts',
        find: 'entry === undefined || more.length > 0 ? undefined : int64',
        put: 'entry === undefined ? 0n : int64',
      },
      {
        file: 'platform/chain/chain-parameters.ts',
        find: 'value === undefined || !isWithin(value, bounds[name])',
        put: 'value === undefined',
      },
    ],
    test: long('quotes/market')('sells nothing'),
  },
  {
    name: 'one of two nodes names the fees',
    changes: one(
      'platform/chain/chain-parameters.ts',
      'first === undefined || first.count === second?.count',
      'first === undefined',
    ),
    test: long('quotes/market')('price nothing'),
  },
  {
    name: 'one operator’s key goes to all',
    changes: one('platform/chain/configured-nodes.ts', 'apiKey: chain.apiKeys[index],', 'apiKey: chain.apiKeys[0],'),
    test: integration('chain/nodes')('each goes to its own node'),
  },
  {
    name: 'a node that failed lately gets no broadcast',
    changes: one(
      'platform/chain/node-pool.ts',
      '        ...byHeight(current.filter((node) => !node.isHealthy)),\n',
      '',
    ),
    test: long('fulfilment/fulfilment-nodes')('goes to every node, even to those that just failed'),
  },
  {
    name: 'a sending that reached nobody counts',
    changes: one(
      SENDER,
      'await this.transactionLog.recordBroadcasts(records, { unheard });',
      'await this.transactionLog.recordBroadcasts(records, {});',
    ),
    test: long('fulfilment/fulfilment-nodes')(
      'that reaches no node is recorded, counts as none, and uses up no attempt',
    ),
  },
  {
    name: 'a call that ran out of time is not run again',
    changes: one(
      'platform/chain/tron.client.ts',
      `if (outcome.kind !== 'refused' || outcome.refusal !== 'timeout') return outcome;`,
      'if (outcome.kind.length > 0) return outcome;',
    ),
    test: long('quotes/quotes-nodes')('that runs out of time once is run again'),
  },
  {
    name: 'a node without history proves a death',
    changes: one(
      'modules/fulfilment/send/proof.ts',
      'const keepsHistory = await this.history.keeps(node);',
      'const keepsHistory = this.history.lackingMs(node) >= 0;',
    ),
    test: long('fulfilment/witnesses')('that a node without history reports waits as for a node that is away'),
  },
  {
    name: 'the later clock of two ends rentals',
    changes: one('platform/chain/agreement.ts', 'times.sort((a, b) => b - a);', 'times.sort((a, b) => a - b);'),
    test: long('fulfilment/witnesses')('is not brought forward by a node that is far ahead of the other one'),
  },
  {
    name: 'an exhausted key silences a provider that has another one',
    changes: one(
      'platform/chain/agreement.ts',
      'return voice.find((node) => node.isHealthy) ?? present[0] ?? voice[0] ?? [];',
      'return voice[0] ?? present[0] ?? [];',
    ),
    test: integration('chain/provider-keys')('prove a death by the second one while the first one is exhausted'),
  },
  {
    name: 'an exhausted key holds the time of the chain back',
    changes: one('platform/chain/agreement.ts', 'voice.filter(isSo)', 'voice.some(isSo) ? voice : []'),
    test: integration('chain/provider-keys')(
      'let the time of the chain move on by the second one once the first one is away',
    ),
  },
  {
    name: 'two keys of one provider outvote another provider',
    changes: one(
      'platform/chain/node-pool.ts',
      'const hosts = [...new Set(candidates.map(({ fullHost }) => fullHost))];',
      'const hosts = candidates.map(({ fullHost }) => fullHost);',
    ),
    test: integration('chain/provider-keys')(
      'do not outvote another provider, and the second one is asked when the first one fails',
    ),
  },
  {
    name: 'nodes that share a solid port count as one source of fees',
    changes: one('platform/chain/node.ts', 'new URL(options.fullUrl).host;', 'new URL(options.solidUrl).host;'),
    test: long('quotes/market')('two of three nodes that agree outvote the third'),
  },
  {
    name: 'the height that two keys of one provider report puts the others behind',
    changes: one(
      'platform/chain/agreement.ts',
      'const present = this.namesThat((node) => node.isOnTime && node.isMoving && !this.outvoted.has(node.witness));',
      'const present = this.nodes.flatMap((node) => (node.isOnTime && node.isMoving ? [[node]] : []));',
    ),
    test: integration('chain/provider-keys')('put two other providers behind no head that they alone report'),
  },
  {
    name: 'two keys of one provider outvote the clock of another provider',
    changes: one('platform/chain/agreement.ts', 'new Set(nodes.map(({ witness }) => witness)).size;', 'nodes.length;'),
    test: integration('chain/provider-keys')(
      'contradict another provider about the time of the chain without outvoting it',
    ),
  },
  {
    name: 'an outvoted provider is believed by its other key',
    changes: one(
      'platform/chain/agreement.ts',
      'const outvoted = this.nodes.filter(({ witness }) => this.outvoted.has(witness));',
      'const outvoted = this.witnesses.filter(({ witness }) => this.outvoted.has(witness));',
    ),
    test: integration('chain/provider-keys')('are both disbelieved once two other providers contradict one of them'),
  },
  {
    name: 'two names of one node prove a death',
    changes: one(
      'modules/fulfilment/send/proof.ts',
      'agreement.witnesses.filter(({ witness }) => witness !== scanner.node.witness)',
      'agreement.witnesses.filter((node) => node !== scanner.node)',
    ),
    test: integration('chain/provider-keys')(
      'are one witness, even if the second one takes the place of the first one during a proof',
    ),
  },
  {
    name: 'a forbidden path silences its provider each time',
    changes: one('platform/chain/node.ts', 'this.answers > before', 'this.answers < before'),
    test: integration('chain/provider-keys')('is asked for everything else without a pause'),
  },
  {
    name: 'a transaction refers to a solid block of hours ago',
    changes: one(
      'modules/fulfilment/follow/solid-heads.ts',
      'head.number - solid.number <= REFERENCE_AGE_MAX_BLOCKS',
      'head.number >= solid.number',
    ),
    test: integration('fulfilment/fulfilment-ports')(
      'a delivery sent after hours of silence is proven dead once the port is back',
    ),
  },
  {
    name: 'every caller asks a node again that was too slow',
    changes: one('platform/chain/node-pool.ts', `if (error.kind === 'timeout') this.slowAnswers.note(what, node);`, ''),
    test: integration('chain/slow-nodes')(
      'is tried again by one caller alone, ever more seldom, while another node answers all others',
    ),
  },
  {
    name: 'a change of the energy price counts a block too late',
    changes: one(
      'platform/chain/transaction-report.ts',
      'Number(since) <= parent.timestampMs',
      'Number(since) < parent.timestampMs',
    ),
    test: integration('chain/energy-prices')('changes with the next block after a change of the local chain'),
  },
  {
    name: 'a silent witness is waited for without end',
    changes: one(
      'platform/chain/agreement.ts',
      'return node.awayMs > this.awayMaxMs;',
      'return node.awayMs > this.awayMaxMs * 1e9;',
    ),
    test: long('fulfilment/witnesses')(
      'waits for a limited time for a silent witness, then is decided by the other one, and the evidence shows it',
    ),
  },
  {
    name: 'a witness whose solid head stands still is waited for without end',
    changes: one(
      'platform/chain/agreement.ts',
      'this.solidStalledMs(node) > this.awayMaxMs',
      'this.solidStalledMs(node) > this.awayMaxMs * 1e9',
    ),
    test: long('fulfilment/stalled-witnesses')(
      'delays a death until the wait for it is over, and the evidence shows it',
    ),
  },
  {
    name: 'a solid head far ahead makes the other one stand still',
    changes: one('platform/chain/node-pool.ts', 'isFar && (await hasBlock(node, reached))', 'isFar'),
    test: long('fulfilment/stalled-witnesses')(
      'is waited for only by the blocks that it has itself: one that claims others outvotes nobody',
    ),
  },
  {
    name: 'one of two nodes decides what is final',
    changes: one(
      'modules/fulfilment/follow/settlement.ts',
      'const first = agreeing.slice(0, ANSWERS_NEEDED);',
      'const first = agreeing.slice(0, 1);',
    ),
    test: long('fulfilment/lying-node')(
      'a final block in which only one of two nodes shows our transaction settles nothing',
    ),
  },
  {
    name: 'a starting follower reads back to what was included alone',
    changes: one(
      NEW_BLOCKS,
      `(SELECT min(ref_block_number) + 1 FROM open_chain_tx WHERE stage = 'open' AND status = 'sending' AND ref_block_number > $1)`,
      `NULL::bigint`,
    ),
    test: long('fulfilment/witnesses')(
      'a worker that starts reads the blocks in which something sent before may stand, though no index names it',
    ),
  },
];

const OF_MONEY: readonly PlantedBug[] = [
  {
    name: 'two exchanges of four are enough',
    changes: [
      {
        file: 'modules/billing/rate-sources.ts',
        find: 'Math.floor(configured / 2) + 1',
        put: 'Math.min(2, configured)',
      },
      {
        file: 'modules/billing/rates.ts',
        find: 'const doubt = doubtOf(rate, last, fallback);',
        put: 'const doubt: string | undefined = undefined;',
      },
    ],
    test: long('billing/rates')('is not what two exchanges report together while the two others are away'),
  },
  {
    name: 'a rate may jump',
    changes: one(
      'modules/billing/held-rates.ts',
      'const MOVE_PERCENT_MAX = 20n;',
      'const MOVE_PERCENT_MAX = 2_000_000n;',
    ),
    test: long('billing/rates')('is held back when it moved further, in every process, and charges go on at the last:'),
  },
  {
    name: 'a rate out of the band is charged at once',
    changes: one(
      'modules/billing/held-rates.ts',
      'if (isInBand(rate, fallback)) return undefined;',
      'return undefined;',
    ),
    test: long('billing/rates')('is held back when it is the first, but outside the band:'),
  },
  {
    name: 'small rentals cost less than their transactions burn',
    changes: one(
      'modules/pool/bandwidth.ts',
      'return divCeil(TRANSACTIONS_PER_LEG *',
      'return 0n as Sun;\n  return divCeil(TRANSACTIONS_PER_LEG *',
    ),
    test: integration('quotes/quotes')(
      'a small amount costs the burn of its two transactions plus a tenth, and less than that is not sold',
    ),
  },
  {
    name: 'no bandwidth is kept for the reclaim',
    changes: one(SCHEMA, `WHEN 'activation' THEN 0 ELSE 2 END;`, `WHEN 'activation' THEN 0 ELSE 0 END;`),
    test: integration('orders/capacity')(
      'skips a wallet without bandwidth for a delegation and its reclaim, whatever its stake',
    ),
  },
  {
    name: 'each refusal costs a connection',
    changes: one(
      'platform/database/database.ts',
      'const HARMLESS = /^(ER|P0|22|23|40|55|57014|53100)/;',
      'const HARMLESS = /^(22|23|40|55|57014|53100)/;',
    ),
    test: integration('orders/orders-terms')(
      'refused orders close no connection to the database and leave nothing behind',
    ),
  },
  {
    name: 'wallets that no worker has read are sold from',
    changes: one(
      SCHEMA,
      `WHERE role = v_role AND status = 'active' AND sells_until > v_now ORDER BY`,
      `WHERE role = v_role AND status = 'active' ORDER BY`,
    ),
    test: integration('pool/bandwidth')(
      'a wallet without a successful reading for a minute is no candidate, however often it was tried',
    ),
  },
  {
    name: 'a charge counts on the day before it had the lock',
    changes: one(SCHEMA, 'IF v_charged_on > v_counted_on THEN', 'IF false THEN'),
    test: integration('orders/capacity')(
      'is the day on which the charge got the balance’s lock, not the day before its wait',
    ),
  },
];

export const PLANTED_DEFENCES: readonly PlantedBug[] = [...AGAINST_FOREIGN, ...AGAINST_NODES, ...OF_MONEY];
