// The number of delegation-sized transactions that a wallet can pay for, less those of open legs.
import fc from 'fast-check';
import { buildTransaction, signedTransactionHex } from '../../../src/platform/chain/signed-transaction.js';
import { sun } from '../../../src/domain/units.js';
import {
  freeTransactions,
  TRANSACTION_BYTES,
  transactionShares,
  transactionsPaidFor,
} from '../../../src/modules/pool/bandwidth.js';
import { newOwner } from '../../support/chain/order-chain.js';

const TRX = 1_000_000n;
const FEE = 1000n;
const RESERVE = 5n * TRX;
const none = { unsent: 0n, endingSoon: 0n, endingLater: 0n };

test.each([
  ['TRX above the reserve alone', { netLimit: 0n, netUsed: 0n, balanceSun: 12n * TRX }, 24n],
  ['nothing at the reserve', { netLimit: 0n, netUsed: 0n, balanceSun: RESERVE }, 0n],
  ['nothing below the reserve', { netLimit: 0n, netUsed: 0n, balanceSun: TRX }, 0n],
  ['staked bandwidth that remains', { netLimit: 1000n, netUsed: 428n, balanceSun: 0n }, 2n],
  ['nothing for overdrawn staked bandwidth', { netLimit: 100n, netUsed: 900n, balanceSun: 0n }, 0n],
  ['each rounded down by itself', { netLimit: 285n, netUsed: 0n, balanceSun: RESERVE + 285_999n }, 0n],
  ['both together', { netLimit: 572n, netUsed: 0n, balanceSun: RESERVE + 286_000n }, 3n],
])('a wallet pays for transactions by %s', (_what, reading, expected) => {
  expect(transactionsPaidFor(reading, FEE, RESERVE)).toBe(expected);
});

/** TRON (BandwidthProcessor): the transaction with its signature, and room for its result. */
const bytesOf = (rawData: Buffer): number => signedTransactionHex(rawData, Buffer.alloc(65)).length / 2 + 64;

test.each(['delegate', 'undelegate'] as const)('no transaction takes more bandwidth than is counted: %s', (type) => {
  const [owner, receiver] = [newOwner().address, newOwner().address];
  const reference = { number: 75_000_000, id: 'f'.repeat(64), timestampMs: 1_795_000_000_000 };
  for (const amount of [1_000_000, 1_000_000_000_000, Number.MAX_SAFE_INTEGER]) {
    const { rawData } = buildTransaction(
      { type, owner, receiver, amountSun: sun(amount), resource: 'ENERGY' },
      { permissionId: 9, reference, expiresAtMs: 1_795_000_060_000, timestampMs: 1_795_000_000_000 },
    );
    expect(bytesOf(rawData)).toBeLessThanOrEqual(Number(TRANSACTION_BYTES));
  }
});

test('an unsent leg needs two transactions, and a leg that ends within a day needs one for its reclaim', () => {
  expect(freeTransactions(24n, 0n, none)).toBe(24n);
  expect(freeTransactions(24n, 0n, { ...none, unsent: 5n })).toBe(14n);
  expect(freeTransactions(24n, 0n, { ...none, unsent: 5n, endingSoon: 14n })).toBe(0n);
  expect(freeTransactions(24n, 0n, { ...none, endingSoon: 100n })).toBe(0n);
});

test('a later end uses one day of staked bandwidth, and TRX beyond that', () => {
  const netLimit = 10n * 286n + 285n;
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
