import { entry, fittedTable, table } from '../../../src/modules/operator/format.js';

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

it('shortens the middle of elastic columns in a fitted table, the widest first, and no other', () => {
  const shown = fittedTable(
    ['order', 'project', 'key', 'status'],
    [
      ['123456', 'Acme payouts', `payout-${'x'.repeat(90)}-17`, 'delivered'],
      ['7', 'Borealis', 'short', 'reserved !'],
    ],
    [1, 2],
  );
  const lines = shown.split('\n');
  expect(lines.map(({ length }) => length)).toEqual([80 - 'reserved !'.length + 'status'.length, 80, 79, 80]);
  expect(lines[2]).toMatch(/^123456 {2}Acme payouts {2}payout-x+…x+-17 {2}delivered$/);
  expect(lines[3]).toMatch(/^7 {7}Borealis {6}short +reserved !$/);
  expect(fittedTable(['order'], [], [], 'No orders match.')).toBe('No orders match.');
});

it('keeps headings in a fitted table whose elastic columns are all too long', () => {
  const long = 'y'.repeat(200);
  const lines = fittedTable(['order', 'project', 'key'], [['z'.repeat(65), long, long]], [1, 2]).split('\n');
  expect(lines[0]).toMatch(/ project {2}key$/);
  expect(lines[2]).toMatch(/z {2}yyy…yyy {2}yy…y$/);
});
