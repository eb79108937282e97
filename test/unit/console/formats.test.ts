// Numbers as every page of the console shows them.
import { assetText, grouped, groupedIn, rateText, usd, usdExact } from '../../../packages/console/src/format/money.js';
import { sentenceText } from '../../../packages/console/src/format/sentence.js';

it('every whole number has spaces between thousands that no line breaks, and every fraction a point', () => {
  expect([grouped(65_000), grouped('1234567.5'), assetText('1500.000000', 'TRX')]).toEqual([
    '65\u00a0000',
    '1\u00a0234\u00a0567.5',
    '1\u00a0500.00 TRX',
  ]);
  expect([usd(12_345_678_900_000), usdExact(35_750_000), rateText('0.31200000')]).toEqual([
    '$1\u00a0234\u00a0567.89',
    '$3.575',
    '0.312',
  ]);
});

it.each([
  ['Delegated in block 71234567', 'Delegated in block 71\u00a0234\u00a0567'],
  [
    'rental of 65000 energy for 3600 s to TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
    'rental of 65\u00a0000 energy for 3600 s to TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  ],
  ['invoice-202611 at 12345.50', 'invoice-202611 at 12345.50'],
  ['dep_123456 of 2026-11-24', 'dep_123456 of 2026-11-24'],
])('the sentence “%s” is shown as “%s”', (text, shown) => {
  expect(groupedIn(text)).toBe(shown);
});

it.each([
  ['Rental of 65000 energy for 86400 s to TF7R', 'Rental of 65\u00a0000 energy for 1 d to TF7R'],
  ['Accepted; $0.877500 charged.', 'Accepted; $0.8775 charged.'],
  ['$12.000000 returned: the full charge.', '$12.00 returned: the full charge.'],
  ['bank transfer 100 s', 'bank transfer 100 s'],
  ['It burnt 6.528500 TRX: 130 285 energy was needed.', 'It burnt 6.5285 TRX: 130\u00a0285 energy was needed.'],
  ['Reclaimed at 2026-11-29 19:13:57Z by the clock', 'Reclaimed at 2026-11-29 19:13:57 UTC by the clock'],
])('the sentence of the API “%s” is shown as “%s”', (text, shown) => {
  expect(sentenceText(text)).toBe(shown);
});
