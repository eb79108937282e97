// The operator's view of a plan: preparatory steps, and the bytes to sign.
import { arrivalText, sweepText } from '../../../src/modules/operator/deposit-plan-text.js';
import type { PlannedTransfer } from '../../../src/modules/deposits/deposit-transfers.js';

const transfer = (more: Partial<PlannedTransfer>): PlannedTransfer => ({
  txid: 'ab'.repeat(32),
  rawDataHex: 'cdef',
  transaction: {},
  path: "m/44'/195'/3'/0/7",
  from: 'TFrom',
  to: 'TTo',
  asset: 'USDT',
  amount: 20_000_000n,
  expiresAt: new Date('2026-01-02T03:04:05Z'),
  arrives: 20_000_000n,
  tokenFee: 0n,
  needsActivation: false,
  createsReceiver: false,
  energy: 64_285n,
  rentEnergy: 0n,
  feeLimitSun: 7_071_400n,
  bandwidth: 345n,
  burnsSun: 0n,
  missingSun: 0n,
  mustConfirm: false,
  ...more,
});

it('names the steps before a transaction, with their addresses', () => {
  const text = sweepText({
    transactions: [
      transfer({ from: 'TFirst', needsActivation: true, energy: 130_285n, rentEnergy: 130_460n, mustConfirm: true }),
      transfer({ from: 'TSecond', rentEnergy: 64_460n }),
      transfer({ from: 'TThird', missingSun: 345_000n }),
    ],
    leftOut: [{ from: 'TLast', to: 'TTo', asset: 'USDT', amount: 5n, cause: 'paused', says: 'The token is paused.' }],
  });
  expect(text).toMatch(/1\. Activate these addresses:\n {3}TFirst\n/);
  expect(text).toMatch(/2\. Send TRX to these addresses:\n {3}TThird {2}0\.345000 TRX\n/);
  expect(text).toMatch(/3\. Rent energy for .*:\n {3}TFirst {2}130 460 energy\n {3}TSecond {2}64 460 energy\n/);
  expect(text).toMatch(/4\. Sign and send these transactions before 2026-01-02T03:04:05\.000Z/);
  expect(text).toMatch(/wait[^]*TFirst[^]*130 285[^]*TSecond[^]*64 285/);
  expect(text).toMatch(/Left out because they would fail:\n[^]*TLast .*0\.000005 .*The token is paused\./);
});

it('says that there is nothing to sweep, and shows no needless step', () => {
  expect(sweepText({ transactions: [], leftOut: [] })).toBe('No balance is worth a transaction.');
  const text = sweepText({ transactions: [transfer({})], leftOut: [] });
  expect(text).toMatch(/^1\. Sign and send/);
  expect(text).not.toContain('Left out');
});

it('names the amount that arrives if the token keeps a fee', () => {
  expect(arrivalText(transfer({}))).toBe('20.000000 USDT arrive at TTo.');
  expect(arrivalText(transfer({ arrives: 19_980_000n, tokenFee: 20_000n }))).toBe(
    '19.980000 USDT arrive at TTo: the token deducts a fee of 0.020000 from 20.000000, which the recipient bears.',
  );
});
