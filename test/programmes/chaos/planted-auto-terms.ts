// Planted bugs in the durations that auto-delegations choose, and in the transfers that size their refills, each with the
// test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const CHOICE = 'modules/auto-delegations/duration-choice.ts';
const HISTORY = 'modules/auto-delegations/use-history.ts';
const OBSERVER = 'modules/auto-delegations/use-observer.ts';
const SIZE = 'modules/auto-delegations/refill-size.ts';
const PURCHASES = 'modules/auto-delegations/refill-purchases.ts';

const choice = (title: string): NamedTest => ({ file: 'unit/auto-delegations/duration-choice.test.ts', title });
const durations = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegation-durations.test.ts',
  title,
});
const transfers = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegation-transfers.test.ts',
  title,
});
const settings = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegations-api.test.ts',
  title,
});

export const PLANTED_AUTO_TERMS: readonly PlantedBug[] = [
  {
    name: 'a refill is bought for longer than its address was measured',
    changes: one(CHOICE, 'Math.min(longestSec, measured.days * DAY_SEC)', 'longestSec'),
    test: choice('is the cheapest for each use, and never longer than the use was measured'),
  },
  {
    name: 'the cheapest rental is chosen instead of the cheapest use',
    changes: one(
      CHOICE,
      'one.priceSun * BigInt(other.uses) < other.priceSun * BigInt(one.uses)',
      'one.priceSun < other.priceSun',
    ),
    test: choice('costs no more for each use than any other duration that could be chosen'),
  },
  {
    name: 'days without a use count as used',
    changes: one(HISTORY, '(most * measured.usedDays) / measured.days', '(most * measured.days) / measured.days'),
    test: choice('stays short for an address that is rarely used'),
  },
  {
    name: 'a long rental uses up the cap that the uses of the day need',
    changes: one(CHOICE, 'longer.credits + reserved > creditsLeft', 'longer.credits > creditsLeft'),
    test: durations('leaves the daily cap to as many uses as were measured'),
  },
  {
    name: 'an address whose caps allow a day alone is paused',
    changes: one(PURCHASES, "if (outcome.kind !== 'refused') break;", 'break;'),
    test: durations('is for a day if another cap does not allow longer, without a pause'),
  },
  {
    name: 'measured uses change the duration of a request',
    changes: one(PURCHASES, 'if (!row.auto_duration) return [row.duration_sec];', ''),
    test: durations('a duration of the request stays, whatever was measured'),
  },
  {
    name: 'a day without a use is left out of the history',
    changes: one(OBSERVER, 'least(${DAY} - a.uses_on - 1, 30)', 'least(${DAY} - a.uses_on - 1, 0)'),
    test: durations('uses are counted once for each block, by the UTC day of the chain’s clock'),
  },
  {
    name: 'the cost of a use ignores the measured uses',
    changes: one(
      'modules/auto-delegations/auto-delegation-prices.ts',
      'usesExpected(durationSec, terms.measured)',
      'usesExpected(durationSec, undefined)',
    ),
    test: settings('of a use follow the measured uses, which also choose the duration'),
  },
  {
    name: 'a transfer sizes an auto-delegation once and for all',
    changes: one(SIZE, 'const needed = transferEnergy ?? last;', 'const needed = last ?? transferEnergy;'),
    test: transfers('is measured again before each refill, which buys what it needs now'),
  },
  {
    name: 'a refill is bought for a transfer that would fail',
    changes: one(
      'modules/auto-delegations/refill-purchases.ts',
      'return refill === undefined ? NOTHING :',
      'return refill !== undefined ? NOTHING :',
    ),
    test: transfers('a refill whose transfer would fail is not bought'),
  },
  {
    name: 'an auto-delegation is set for a transfer that would fail',
    changes: one(
      'modules/auto-delegations/auto-delegation-prices.ts',
      'const transferEnergy = await this.transfers.energyOf(address, transfer);',
      'const transferEnergy = await this.transfers.energyOf(address, transfer).catch(() => keepEnergy);',
    ),
    test: transfers('is refused with the reason when it would fail'),
  },
  {
    name: 'a transfer lowers the energy that a request keeps',
    changes: one(SIZE, '(level > needed ? level : needed)', '(level > needed ? needed : needed)'),
    test: transfers('raises a smaller keep_energy, and never lowers a larger one'),
  },
];
