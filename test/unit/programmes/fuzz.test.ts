// A small run of the `npm run fuzz` cases, with a fixed seed for reproducible results.
import { checkAddresses, checkHeaders, checkIntegers, checkParts } from '../../programmes/fuzz/fields.js';
import { checkBytes, checkCanonicaliser, checkReader } from '../../programmes/fuzz/json.js';

const RUNS = 1000;
const SEED = 20_260_101;

describe('with random input', () => {
  test('verifies permuted and pretty-printed bodies, and no other meaning', () => {
    const counts = checkCanonicaliser(RUNS, SEED);
    expect(counts['verified']).toBeGreaterThan(RUNS / 2);
    expect(counts['other meanings refused']).toBeGreaterThan(RUNS);
  });

  test('the strict reader accepts JSON like JSON.parse, except for deliberate refusals', () => {
    const counts = checkReader(RUNS, SEED);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
  });

  test('reads or refuses bytes of any kind', () => {
    expect(checkBytes(RUNS, SEED)['refused']).toBeGreaterThan(0);
  });

  test('judges addresses as base58check does', () => {
    for (const count of Object.values(checkAddresses(RUNS, SEED))) expect(count).toBeGreaterThan(0);
  });

  test('judges integers by their notation', async () => {
    for (const count of Object.values(await checkIntegers(RUNS, SEED))) expect(count).toBeGreaterThan(0);
  });

  test('tells requests apart by the parts that they ask for', async () => {
    for (const count of Object.values(await checkParts(RUNS, SEED))) expect(count).toBeGreaterThan(0);
  });

  test('reads or refuses headers', () => {
    for (const count of Object.values(checkHeaders(RUNS, SEED))) expect(count).toBeGreaterThan(0);
  });
});
