// The number of delegation-sized transactions that a wallet can pay for, less those of open legs.
import fc from 'fast-check';
import { freeTransactions, transactionShares, transactionsPaidFor } from '../../../src/modules/pool/bandwidth.js';

const TRX = 1_000_000n;
const FEE = 1000n;
const RESERVE = 5n * TRX;
const none = { unsent: 0n, endingSoon: 0n, endingLater: 0n };

test.each([
  ['TRX above the reserve alone', { netLimit: 0n, netUsed: 0n, balanceSun: 12n * TRX }, 24n],
  ['nothing at the reserve', { netLimit: 0n, netUsed: 0n, balanceSun: RESERVE }, 0n],
  ['nothing below the reserve', { netLimit: 0n, netUsed: 0n, balanceSun: TRX }, 0n],
  ['staked bandwidth that remains', { netLimit: 1000n, netUsed: 436n, balanceSun: 0n }, 2n],
  ['nothing for overdrawn staked bandwidth', { netLimit: 100n, netUsed: 900n, balanceSun: 0n }, 0n],
  ['each rounded down by itself', { netLimit: 281n, netUsed: 0n, balanceSun: RESERVE + 281_999n }, 0n],
  ['both together', { netLimit: 564n, netUsed: 0n, balanceSun: RESERVE + 282_000n }, 3n],
])('a wallet pays for transactions by %s', (_what, reading, expected) => {
  expect(transactionsPaidFor(reading, FEE, RESERVE)).toBe(expected);
});

test('an unsent leg needs two transactions, and a leg that ends within a day needs one for its reclaim', () => {
  expect(freeTransactions(24n, 0n, none)).toBe(24n);
  expect(freeTransactions(24n, 0n, { ...none, unsent: 5n })).toBe(14n);
  expect(freeTransactions(24n, 0n, { ...none, unsent: 5n, endingSoon: 14n })).toBe(0n);
  expect(freeTransactions(24n, 0n, { ...none, endingSoon: 100n })).toBe(0n);
});

test('a later end uses one day of staked bandwidth, and TRX beyond that', () => {
  const netLimit = 10n * 282n + 281n;
  expect(freeTransactions(24n, netLimit, { ...none, endingLater: 10n })).toBe(24n);
  expect(freeTransactions(24n, netLimit, { ...none, endingLater: 13n })).toBe(21n);
  expect(freeTransactions(24n, 0n, { ...none, endingLater: 13n })).toBe(11n);
});

test('distributes all of it to the slots, in pairs except for an odd one', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.integer({ min: 1, max: 256 }), (free, count) => {
      const shares = transactionShares(free, count);
      expect(shares).toHaveLength(count);
      expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(free);
      expect(shares.slice(1).every((share) => share % 2n === 0n)).toBe(true);
    }),
  );
});
