// A small run of the `npm run fuzz` cases, with a fixed seed for reproducible results.
import { checkAddresses, checkHeaders, checkIntegers } from '../fuzz/fields.js';
import { checkBytes, checkCanonicaliser, checkReader } from '../fuzz/json.js';

const RUNS = 1000;
const SEED = 20_260_101;

describe('at random', () => {
  test('permuted and pretty-printed bodies verify, and no other meaning does', () => {
    const counts = checkCanonicaliser(RUNS, SEED);
    expect(counts['verified']).toBeGreaterThan(RUNS / 2);
    expect(counts['other meanings refused']).toBeGreaterThan(RUNS);
  });

  test('the strict reader takes what JSON.parse takes, less what is refused on purpose', () => {
    const counts = checkReader(RUNS, SEED);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
  });

  test('bytes of any kind are read or refused', () => {
    expect(checkBytes(RUNS, SEED)['refused']).toBeGreaterThan(0);
  });

  test('addresses are judged as base58check judges them', () => {
    for (const count of Object.values(checkAddresses(RUNS, SEED))) expect(count).toBeGreaterThan(0);
  });

  test('integers are judged by how they are written', async () => {
    for (const count of Object.values(await checkIntegers(RUNS, SEED))) expect(count).toBeGreaterThan(0);
  });

  test('headers are read or refused', () => {
    for (const count of Object.values(checkHeaders(RUNS, SEED))) expect(count).toBeGreaterThan(0);
  });
});
