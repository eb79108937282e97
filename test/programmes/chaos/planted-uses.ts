// Planted bugs in prices by expected uses, in sizes by a transfer, and in the burn of a call, each with the test that must
// catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const quotes = (title: string): NamedTest => ({ file: 'integration/quotes/quotes-uses.test.ts', title });
const orders = (title: string): NamedTest => ({ file: 'integration/orders/orders-uses.test.ts', title });
const extensions = (title: string): NamedTest => ({ file: 'integration/orders/extension-terms.test.ts', title });
const refills = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegation-refills.test.ts',
  title,
});
const limits = (title: string): NamedTest => ({ file: 'integration/quotes/fee-limits.test.ts', title });
const feeLimit = (title: string): NamedTest => ({ file: 'unit/quotes/fee-limit.test.ts', title });
const burn = (title: string): NamedTest => ({ file: 'unit/simulation/burn-outlook.test.ts', title });

const SIZING = 'modules/quotes/transfer-sizing.ts';
const BURN = 'modules/simulation/burn-outlook.ts';

export const PLANTED_USES: readonly PlantedBug[] = [
  {
    name: 'a use more than the duration allows is sold',
    changes: one(
      'domain/price.ts',
      'return 1 + Math.floor(durationSec / RECOVERY_SEC);',
      'return 2 + Math.floor(durationSec / RECOVERY_SEC);',
    ),
    test: quotes('go with the quote of a simulation'),
  },
  {
    name: 'a long rental is compared with one burn, whatever its expected uses',
    changes: one(
      'modules/quotes/direct-price.ts',
      'burnPrice(amount, energyFeeSun, uses))) return;',
      'burnPrice(amount, energyFeeSun))) return;',
    ),
    test: quotes('are named by the refusal of a long rental that one use does not pay for'),
  },
  {
    name: 'the saving of many uses is that of one',
    changes: one(
      'modules/quotes/quotes.service.ts',
      'burnPrice(amount, market.energyFeeSun, uses) +',
      'burnPrice(amount, market.energyFeeSun) +',
    ),
    test: quotes('count that many burns, and are echoed with the price of each'),
  },
  {
    name: 'a quote forgets its expected uses',
    changes: one('modules/quotes/quote-token.ts', '...(expectedUses > 0 && {', '...(expectedUses < 0 && {'),
    test: orders('an order by a quote has the quote’s expected uses, and may not name others'),
  },
  {
    name: 'other expected uses are the same request',
    changes: one('modules/orders/request-hash.ts', 'expectedUses === 1 ? [] : [expectedUses];', '[];'),
    test: orders('a key belongs to its expected uses, of which 1 is the default'),
  },
  {
    name: 'an extension forgets its expected uses',
    changes: one('modules/orders/extend-statement.ts', 'expectedUses ?? null', 'expectedUses === 0 ? 1 : null'),
    test: extensions('an extension tells what it was sold by, also to a replay'),
  },
  {
    name: 'an extension forgets its fee limit',
    changes: one(
      'modules/orders/extend-statement.ts',
      '?.feeLimitSun ?? null',
      '?.feeLimitSun === undefined ? 0n : null',
    ),
    test: extensions('an extension tells what it was sold by, also to a replay'),
  },
  {
    name: 'expected uses beyond any integer reach the database',
    changes: one('modules/quotes/quote.dto.ts', 'Math.min(mostUses(durationSec)', 'Math.max(mostUses(durationSec)'),
    test: extensions('expected uses beyond any integer of the database are refused like the duration that allows them'),
  },
  {
    name: 'a refill forgets its expected uses',
    changes: one(
      'modules/auto-delegations/refill-statement.ts',
      'terms.energyFeeSun],\n      expectedUses,',
      'terms.energyFeeSun],\n      null,',
    ),
    test: refills('shows the expected uses that it and its extension were priced with'),
  },
  {
    name: 'the extension of a refill forgets its expected uses',
    changes: one(
      'modules/auto-delegations/refill-statement.ts',
      'nextKey(claimed), expectedUses, terms.feeLimitSun]',
      'nextKey(claimed), null, terms.feeLimitSun]',
    ),
    test: refills('shows the expected uses that it and its extension were priced with'),
  },
  {
    name: 'another transfer is the same request',
    changes: one(
      'modules/orders/request-hash.ts',
      "transfer === undefined ? [] : ['transfer', transfer.to,",
      "transfer === undefined ? [] : ['transfer',",
    ),
    test: orders('an order may be sized by its transfer, which belongs to its key'),
  },
  {
    name: 'a transfer without a Transfer event sizes a rental',
    changes: one(SIZING, "if (!isProven) throw wouldFail('The token", "if (sender === '') throw wouldFail('The token"),
    test: quotes('may be of another token, and must move it'),
  },
  {
    name: 'a transfer is simulated with one unit, whatever its amount',
    changes: one(
      SIZING,
      'simulateTransfer(this.client, token, { from: sender, to, amount })',
      'simulateTransfer(this.client, token, { from: sender, to, amount: amount > 0n ? 1n : amount })',
    ),
    test: quotes('is simulated with its amount'),
  },
  {
    name: 'a fee limit above what the chain accepts is answered',
    changes: one(
      'domain/fee-limit.ts',
      'if (maxFeeLimitSun === undefined || needed <= maxFeeLimitSun)',
      'if (maxFeeLimitSun === undefined || needed > 0n)',
    ),
    test: feeLimit('never exceeds the chain’s highest'),
  },
  {
    name: 'an order forgets the highest fee limit of its price',
    changes: one(
      'modules/orders/accept-statement.ts',
      '(terms.maxFeeLimitSun ?? null)',
      '(terms.maxFeeLimitSun === 0n ? 0n : null)',
    ),
    test: limits('an order answers the fee limit of its price for ever'),
  },
  {
    name: 'an extension hides that its fee limit is too low',
    changes: one(
      'modules/orders/orders.dto.ts',
      'row.fee_limit_capped === true &&',
      'row.fee_limit_capped === false &&',
    ),
    test: limits('an extension answers the fee limit of its own price'),
  },
  {
    name: 'the highest fee limit of one node against another is the higher one',
    changes: one('platform/chain/chain-parameters.ts', '(one < other ? -1 : 1)', '(one < other ? 1 : -1)'),
    test: feeLimit('nodes that name different highest fee limits still agree on prices'),
  },
  {
    name: 'free and staked bandwidth are added up',
    changes: one(BURN, 'const better = staked > free ? staked : free;', 'const better = staked + free;'),
    test: burn('both together would cover it, and none alone'),
  },
  {
    name: 'only the missing bandwidth is burnt',
    changes: one(
      BURN,
      'BigInt(needed) * transactionFeeSunPerByte',
      '(BigInt(needed) - (available ?? 0n)) * transactionFeeSunPerByte',
    ),
    test: burn('one byte is missing'),
  },
];
