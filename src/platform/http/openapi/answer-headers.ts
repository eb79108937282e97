/** The response headers that the document describes, and the content of a body. */
import type { JsonSchema } from '../body/member-rules.js';
import type { BudgetName } from '../pipeline/route-options.js';

export const KEY_HEADER = 'Idempotency-Key';

/** A header of an answer. `isAlways` is false if it is present only where it applies. */
export const headerSchema = (description: string, isAlways: boolean, type = 'string'): JsonSchema => ({
  description,
  ...(isAlways && { required: true }),
  schema: { type },
});

export const REQUEST_ID = {
  'X-Request-Id': headerSchema('The ID of the request: yours if you sent one, otherwise a new one.', true),
};

const COUNTED: Readonly<Record<BudgetName, string>> = {
  quotes: 'Quotes, simulations and explanations per window of 60 s.',
  general: 'Requests per window of 60 s, without quotes, simulations, explanations and orders.',
  testOrders: 'Orders of a test project per window of 60 s. Orders of live projects are not counted.',
};

export const rateHeaders = (budget: BudgetName, isAlways: boolean) => ({
  'RateLimit-Limit': headerSchema(COUNTED[budget], isAlways, 'integer'),
  'RateLimit-Remaining': headerSchema('Remaining requests in this window.', isAlways, 'integer'),
  'RateLimit-Reset': headerSchema('Seconds until the window ends.', isAlways, 'integer'),
});

export function content(schemaName: string, examples: Readonly<Record<string, unknown>>): JsonSchema {
  return {
    schema: { $ref: `#/components/schemas/${schemaName}` },
    examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
  };
}
