import { entry, table } from '../../src/operator/format.js';

const address = 'TLNTMGvJLbhk9qLMMTaG3BjBJBuipWGSQP';

it('a table that fits has its numbers to the right', () => {
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

it('rows that are too wide for 80 columns become entries, each with all of its values', () => {
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

it('no value begins a line of its own, and none is longer than 80 columns', () => {
  const shown = entry(['act'], [['reason', `one\ntwo ${'x'.repeat(200)}`]]);
  expect(
    shown
      .split('\n')
      .slice(1)
      .every((line) => line.startsWith('    ')),
  ).toBe(true);
  expect(Math.max(...shown.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
});

it('an id stands whole, so that it can be copied', () => {
  const txid = 'ab'.repeat(32);
  expect(entry(['transaction'], [['a long name of it', txid]]).split('\n')).toContain(`        ${txid}`);
});
