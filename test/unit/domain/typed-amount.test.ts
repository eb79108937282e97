// Amounts as people type them: the accepted forms, and the message for every other.
import { InvalidArgumentError } from 'commander';
import { dollarsText, dollarsTyped, wholeTyped } from '../../../src/domain/typed-amount.js';
import { creditsArg, integerArg } from '../../../src/modules/operator/arguments.js';

const USD = 10_000_000n;

it.each([
  ['0', 0n],
  ['500', 500n * USD],
  ['$ 250.50', 2_505_000_000n],
  ['12.5', 125_000_000n],
  ['0.125', 1_250_000n],
  ['1234.567', 12_345_670_000n],
  ['12,500.00', 12_500n * USD],
  ['1,234,567', 1_234_567n * USD],
  ['12 500', 12_500n * USD],
  ['12\u202f500.25', 125_002_500_000n],
  ['0.0000001', 1n],
  ['900719925.4740991', 2n ** 53n - 1n],
])('reads %j as one amount in dollars', (text, value) => {
  expect(dollarsTyped(text)).toEqual({ value });
});

it.each([
  ['12,500', /ambiguous\. Write 12500 for the larger amount, or 12\.5000/],
  ['12.500', /ambiguous/],
  ['1.000', /ambiguous/],
  ['1,000', /ambiguous/],
  ['$999,999', /ambiguous/],
  ['1.000,50', /no separator between thousands: 1000\.50/],
  ['12,5', /12\.5/],
  ['0,50', /0\.50/],
  ['1.000.000', /Enter dollars/],
  ['12,50,000', /Enter dollars/],
  ['1,23.45', /Enter dollars/],
  ['1e5', /Enter dollars/],
  ['-5', /Enter dollars/],
  ['', /Enter dollars/],
  ['five', /Enter dollars/],
  ['٣', /Enter dollars/],
  ['1.12345678', /at most 7 decimals/],
  ['900719925.4740992', /at most \$900,719,925\.47/],
  ['900719926', /at most \$900,719,925\.47/],
  ['9'.repeat(59), /at most/],
  ['9'.repeat(5000), /Enter dollars/],
])('rejects %j with a sentence', (text, sentence) => {
  const { value, fault } = dollarsTyped(text);
  expect(value).toBeUndefined();
  expect(fault).toMatch(sentence);
});

it.each([
  ['65000', 65_000n],
  ['65,000', 65_000n],
  ['65 000', 65_000n],
  ['1_000_000', 1_000_000n],
  ['9007199254740991', 2n ** 53n - 1n],
])('reads %j as a whole number', (text, value) => {
  expect(wholeTyped(text)).toEqual({ value });
});

it.each(['65.000', '65,00', '6,5000', '1.5', '-1', '9007199254740992', '1'.repeat(61), 'x', ''])(
  'rejects %j as a whole number, with a reason',
  (text) => {
    expect(wholeTyped(text)).toEqual({ fault: expect.stringMatching(/\.$/) });
  },
);

it('a field’s text is read back as its value', () => {
  for (const value of [0n, 1n, 10n, 1_005_000n * 10n, 1_234_000n, 12_500n * USD, 2n ** 53n - 1n, 10_050_000n]) {
    expect([value, dollarsTyped(dollarsText(value)).value]).toEqual([value, value]);
  }
});

describe('the command line', () => {
  it.each(['12,500', '1.000,50', '12.500', '9007199254740992', '1e3', ''])('rejects %j for credits', (text) => {
    expect(() => creditsArg(text)).toThrow(InvalidArgumentError);
  });

  it('accepts thousands separated by spaces or underscores, and a sign where allowed', () => {
    expect([creditsArg('12 500'), creditsArg('12_500'), integerArg(-5n, 5n)('-5')]).toEqual([12_500n, 12_500n, -5n]);
    expect(() => creditsArg('12,500')).toThrow(/comma/);
  });
});
