// Payments of one block as several nodes report them.
import { agreedPayments, type ReportedPayment } from '../../../src/platform/blocks/agreed-payments.js';

const payment = (amount: bigint, position = 0): ReportedPayment => ({
  txid: 'ab'.repeat(32),
  kind: 'internal',
  position,
  contract: undefined,
  from: 'TFrom',
  to: 'TTo',
  amount,
});

const merged = (reports: readonly (readonly bigint[])[], needed: number) =>
  agreedPayments(
    reports.map((amounts) => amounts.map((amount) => payment(amount))),
    needed,
  ).map(({ amount, isAgreed }) => [amount, isAgreed]);

it.each([
  [[10n], 1, [10n, true]],
  [[10n, 10n], 2, [10n, true]],
  [[10n, 5n], 2, [5n, false]],
  [[10n, 5n, 5n], 2, [5n, true]],
  [[5n, 10n, 5n], 2, [5n, true]],
  [[5n, 5n, 10n], 2, [5n, true]],
  [[5n, 10n, 10n], 2, [10n, true]],
  [[5n, 10n, 5n, 10n], 2, [5n, false]],
  [[7n, 6n, 5n], 2, [5n, false]],
  [[10n, 5n], 1, [5n, false]],
])('amounts %j, one per node, with %i nodes needed, give %j', (amounts, needed, expected) => {
  expect(
    merged(
      amounts.map((amount) => [amount]),
      needed,
    ),
  ).toEqual([expected]);
});

it('does not agree on a payment that one node leaves out, but on those beside it', () => {
  const both = [payment(3n, 0), payment(4n, 1)];
  expect(agreedPayments([both, [payment(4n, 1)]], 2).map(({ amount, isAgreed }) => [amount, isAgreed])).toEqual([
    [3n, false],
    [4n, true],
  ]);
});

it('does not agree on a payment in two tokens', () => {
  const reports = ['TOne', 'TOther'].map((contract) => [{ ...payment(3n), kind: 'log' as const, contract }]);
  expect(agreedPayments(reports, 2).map(({ isAgreed }) => isAgreed)).toEqual([false]);
});
