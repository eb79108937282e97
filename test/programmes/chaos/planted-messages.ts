// Planted bugs in what callers are told, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const terms = (title: string): NamedTest => ({ file: 'integration/orders/orders-terms.test.ts', title });

export const PLANTED_MESSAGES: readonly PlantedBug[] = [
  {
    name: 'a refused charge tells the balance instead of what the debt limit leaves',
    changes: one('modules/orders/refusals.ts', 'available: balance - floor', 'available: balance'),
    test: terms('says what a debt limit leaves'),
  },
  {
    name: 'a refused charge tells the cap of the project in place of the key’s',
    changes: one('modules/orders/refusals.ts', 'ofProject !== null && ofProject < needed', 'ofProject !== null'),
    test: terms('says what the daily cap of the project or of the key leaves today'),
  },
  {
    name: 'the SDK asks for the order named undefined',
    changes: one('packages/sdk/src/required.ts', '  requireSet(name, value);\n  return', '  return'),
    test: { file: 'unit/sdk/sdk-unset.test.ts', title: 'rejects an unset value by name' },
  },
];
