// The request of an order, as its page shows it and as the command that repeats it sends it.
import { curlOf, requestBodyOf } from '../../../src/modules/console/order-proof.js';
import type { OrderRecord } from '../../../src/modules/console/order-records.js';

const ORDER = {
  kind: 'rental',
  receive_address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  energy: 65_000n,
  bandwidth: null,
  activation_credits: null,
  duration_sec: 86_400,
  quote_id: null,
  expected_uses: 2,
} as OrderRecord;

test('shows and repeats the expected uses, without which renting may not be worth its price', () => {
  expect(requestBodyOf(ORDER)).toMatchObject({ energy: 65_000, duration_sec: 86_400, expected_uses: 2 });
  expect(curlOf(ORDER)).toContain('"expected_uses":2');
  expect(requestBodyOf({ ...ORDER, expected_uses: null })).not.toHaveProperty('expected_uses');
});
