import { buildTransfer } from '../../../src/platform/chain/transfer-transaction.js';
import { bandwidthOfCall } from '../../../src/platform/chain/transaction-size.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';

const SIGNATURE_AND_RESULT = 67 + 64;

/** The length of a message in a field with a one-byte number. */
const inField = (bytes: number): number => bytes + (bytes > 127 ? 3 : 2);

it.each([1, 127, 128, 15_000_000, 268_435_455, 268_435_456, 15_000_000_000])(
  'counts the bytes of a token transfer with a fee limit of %d sun as its encoder writes them',
  (feeLimitSun) => {
    const transfer = {
      from: newChainAccount().address,
      to: newChainAccount().address,
      amount: 1n,
      token: { contract: newChainAccount().address, feeLimitSun },
    };
    const reference = { number: 70_000_000, id: 'c0ffee00'.repeat(8), timestampMs: 0 };
    const nowMs = Date.UTC(2026, 10, 28);
    const terms = { reference, timestampMs: nowMs, expiresAtMs: nowMs + 60_000 };
    const { rawDataHex } = buildTransfer(transfer, terms);
    const counted = bandwidthOfCall({ dataBytes: 68, callValueSun: 0n, feeLimitSun: BigInt(feeLimitSun) });
    expect(counted).toBe(inField(rawDataHex.length / 2) + SIGNATURE_AND_RESULT);
  },
);

it('counts 345 bytes for a USDT transfer with a usual fee limit', () => {
  expect(bandwidthOfCall({ dataBytes: 68, callValueSun: 0n, feeLimitSun: 30_000_000n })).toBe(345);
});

it('counts the value and the data of a call only if it has them', () => {
  const plain = bandwidthOfCall({ dataBytes: 0, callValueSun: 0n, feeLimitSun: 1n });
  expect(bandwidthOfCall({ dataBytes: 4, callValueSun: 0n, feeLimitSun: 1n })).toBe(plain + 6);
  expect(bandwidthOfCall({ dataBytes: 0, callValueSun: 1_000_000n, feeLimitSun: 1n })).toBe(plain + 4);
});
