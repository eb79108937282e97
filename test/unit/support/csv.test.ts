import fc from 'fast-check';
import { csvLine, fileForPeople, forPeople } from '../../../src/platform/support/csv.js';

it('marks a text that begins like a formula, and never a number', () => {
  const texts = ['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx'];
  for (const text of texts) expect(csvLine([text])).toContain(`'${text}`);
  expect(csvLine(['a=1', ' =1', '5-3'])).toBe('a=1, =1,5-3\r\n');
  expect(csvLine([-1, -2n, { decimal: '-3.50' }])).toBe('-1,-2,-3.50\r\n');
});

it('quotes a text with a comma, a quote or a line end, and doubles its quotes', () => {
  expect(csvLine(['a,b', 'say "so"', 'one\ntwo', 'one\r\ntwo', 'plain'])).toBe(
    '"a,b","say ""so""","one\ntwo","one\r\ntwo",plain\r\n',
  );
  expect(csvLine(['=HYPERLINK("x","y")'])).toBe(`"'=HYPERLINK(""x"",""y"")"\r\n`);
});

it('writes absent values as empty and times in UTC, and rejects invalid digits', () => {
  expect(csvLine([undefined, null, '', true, new Date('2026-11-23T01:02:03.004Z')])).toBe(
    ',,,true,2026-11-23T01:02:03.004Z\r\n',
  );
  expect(() => csvLine([{ decimal: '=1' }])).toThrow('a decimal is digits');
});

it('a reader of RFC 4180 gets back any text, and none as a formula', () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', '=', '-', '\t', 'ü') }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(fc.array(texts, { minLength: 1 }), (records) => {
      const read = recordsOf(records.map(csvLine).join(''));
      // The texts contain no apostrophe, so each one found is a mark.
      expect(read.map((cells) => cells.map((cell) => cell.replaceAll("'", '')))).toEqual(records);
      expect(read.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([]);
    }),
  );
});

it.each([',', ';', '\t'])('no cell is a formula for a program that splits at %j and knows no quotes', (separator) => {
  const texts = ['Acme;=1+1', 'a\t@SUM(A1)', 'x; +1', 'y;"=1+1"', 'z\n-1', 'w;\t=1', 'v;＝1+1', '=1;=2'];
  const file = csvLine(texts);
  for (const cell of file
    .split(/\r\n|[\r\n]/)
    .flatMap((line) => (separator === ',' ? [line] : line.split(separator)))) {
    expect([cell, /^[\s"]*[=+\-@＝＋－＠]/.test(cell)]).toEqual([cell, false]);
  }
  expect(csvLine(['a; b', 'c - d', 'e;f=1'])).toBe('"a; b",c - d,"e;f=1"\r\n');
});

it('begins a file for people with one byte-order mark, and a file for programs with none', async () => {
  const pages = (async function* () {
    yield await Promise.resolve('name\r\n');
    yield 'Zoë\r\n';
  })();
  let text = '';
  for await (const page of forPeople(pages)) text += page;
  expect(text).toBe('\ufeffname\r\nZoë\r\n');
  expect(fileForPeople('a\r\n')).toBe('\ufeffa\r\n');
  expect(csvLine(['Zoë'])).toBe('Zoë\r\n');
});

/** Parses the records of a file by RFC 4180 alone. */
function recordsOf(file: string): string[][] {
  const records: string[][] = [];
  let cells: string[] = [];
  for (let at = 0; at < file.length;) {
    let cell = '';
    if (file[at] === '"') {
      for (at += 1; file[at] !== '"' || file[at + 1] === '"'; at += 1) {
        cell += file[at] ?? '';
        if (file[at] === '"') at += 1;
      }
      at += 1;
    } else {
      const end = file.slice(at).search(/,|\r\n/);
      cell = file.slice(at, at + end);
      at += end;
    }
    cells.push(cell);
    if (file[at] === ',') at += 1;
    else {
      records.push(cells);
      cells = [];
      at += 2;
    }
  }
  return records;
}
