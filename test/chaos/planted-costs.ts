// Bugs in what transactions of ours are said to have burnt.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const costs = (title: string): NamedTest => ({ file: 'integration/chain-costs.test.ts', title });

export const PLANTED_COSTS: readonly PlantedBug[] = [
  {
    name: 'an activation costs its bandwidth alone',
    changes: one(
      'chain/executed-block.ts',
      "receipt['fee'] === undefined ? 0n : int64(receipt['fee'])",
      "isJsonObject(receipt['receipt']) ? (int64(receipt['receipt']['net_fee'] ?? 0) ?? 0n) : 0n",
    ),
    test: costs('each delegation and each activation has what its receipt says'),
  },
  {
    name: 'a cost whose row was held while its block was read is forgotten',
    changes: one('costs/cost-recorder.ts', 'AND fee_sun IS NULL AND id > $1', 'AND fee_sun IS NULL AND id < $1'),
    test: costs('a row that another session holds while its block is read is looked up later'),
  },
  {
    name: 'a recorded cost may be changed',
    changes: one(SCHEMA, "IF OLD.status = 'solid' AND OLD.fee_sun IS NULL THEN", "IF OLD.status = 'solid' THEN"),
    test: costs('what is recorded of a cost is never changed'),
  },
  {
    name: 'verify does not see that a cost is missing',
    changes: one('verify/cost-checks.ts', 'AND t.fee_sun IS NULL AND', 'AND t.fee_sun < 0 AND'),
    test: costs('verify names a cost that is missing for long, and one that is not what the receipt says'),
  },
  {
    name: 'verify takes every recorded cost for that of the receipt',
    changes: one('verify/cost-checks.ts', 'place.feeSun === recorded', 'place.feeSun >= 0n'),
    test: costs('verify names a cost that is missing for long, and one that is not what the receipt says'),
  },
];
