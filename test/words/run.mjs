// Checks every text of the repository against the terms of docs/glossary.md: `npm run check:words`. Names of files and
// identifiers count as words (`deskOf` is "desk of"). A correct use has an allowance beside its word; an unused
// allowance is an error too. Arguments: a root directory and a list, for the test.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [root = '.', list = new URL('words.mjs', import.meta.url).href] = process.argv.slice(2);
const { PLACES, LEFT_OUT, WORDS } = await import(list.startsWith('file:') ? list : pathToFileURL(list).href);

function* filesIn(place) {
  if (LEFT_OUT.some((pattern) => pattern.test(place))) return;
  const known = statSync(path.join(root, place), { throwIfNoEntry: false });
  if (known === undefined) return;
  if (!known.isDirectory()) yield place;
  else for (const name of readdirSync(path.join(root, place)).sort()) yield* filesIn(path.posix.join(place, name));
}

/** Splits identifiers into words: `nodeFault`, `NodeFault` and `node_fault` are "node fault". */
const asWords = (text) => text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll('_', ' ');

const words = WORDS.map(({ find, say, allow = [] }) => ({
  pattern: new RegExp(String.raw`\b(?:${find})\b`, 'i'),
  say,
  allowances: allow.map(([place, text]) => ({ place, text, isUsed: false })),
}));
/** One pattern for all words, because most lines contain none. */
const any = new RegExp(String.raw`\b(?:${WORDS.map(({ find }) => find).join('|')})\b`, 'i');

const findings = [];
function judge(file, number, line) {
  const text = asWords(line);
  if (!any.test(text)) return;
  for (const { pattern, say, allowances } of words) {
    if (!pattern.test(text)) continue;
    // Removes the allowed text, then checks the rest of the line again.
    let rest = line;
    for (const allowance of allowances) {
      if (!allowance.place.test(file)) continue;
      const without = rest.replaceAll(new RegExp(allowance.text, 'gi'), ' ');
      if (without !== rest && pattern.test(asWords(rest))) allowance.isUsed = true;
      rest = without;
    }
    const found = pattern.exec(asWords(rest));
    if (found !== null) findings.push(`${file}:${number}: "${found[0]}": say ${say}`);
  }
}

for (const place of PLACES) {
  for (const file of filesIn(place)) {
    judge(file, 0, file);
    readFileSync(path.join(root, file), 'utf8')
      .split('\n')
      .forEach((line, index) => judge(file, index + 1, line));
  }
}
for (const { pattern, allowances } of words) {
  for (const { place, text, isUsed } of allowances) {
    if (!isUsed) findings.push(`an allowance of ${pattern.source} matches nothing: ${text} in ${place.source}`);
  }
}
for (const finding of findings) console.error(finding);
process.exitCode = findings.length === 0 ? 0 : 1;
