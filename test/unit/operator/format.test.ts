import { entry, table } from '../../../src/modules/operator/format.js';

const address = 'TLNTMGvJLbhk9qLMMTaG3BjBJBuipWGSQP';

it('aligns numbers to the right in a table that fits', () => {
  expect(
    table(
      ['name', 'credits'],
      [
        ['a', 1_000n],
        ['bc', 5n],
      ],
    ),
  ).toBe(['name  credits', '────  ───────', 'a       1 000', 'bc          5'].join('\n'));
  expect(table(['name'], [], 'Nobody.')).toBe('Nobody.');
});

it('turns rows wider than 80 columns into entries with all their values', () => {
  const reason = 'deliveries failed three times in a row and nobody has checked the key since then';
  const shown = table(
    ['address', 'staked', 'held by', 'reason'],
    [
      [address, 12n, 'signer', reason],
      [address, 3n, null, ''],
    ],
  );
  const lines = shown.split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(lines.filter((line) => line.startsWith(`address ${address}`))).toHaveLength(2);
  expect(shown.replaceAll(/\s+/g, ' ')).toContain(reason);
  expect(shown).toMatch(/staked {2,}12\n/);
});

it('starts no line with a value alone, and exceeds no line of 80 columns', () => {
  const shown = entry(['act'], [['reason', `one\ntwo ${'x'.repeat(200)}`]]);
  expect(
    shown
      .split('\n')
      .slice(1)
      .every((line) => line.startsWith('    ')),
  ).toBe(true);
  expect(Math.max(...shown.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
});

it('keeps an id in one piece, so that it can be copied', () => {
  const txid = 'ab'.repeat(32);
  expect(entry(['transaction'], [['a long name of it', txid]]).split('\n')).toContain(`        ${txid}`);
});
