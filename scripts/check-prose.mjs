// Fails where comments speak in dialect: more than 3 such words per 1,000 in a top folder, or a comment that is an indirect
// question. Usage: node scripts/check-prose.mjs [ROOT]
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = ['src', 'packages', 'test', 'docker', 'examples', 'scripts'];
const LEFT_OUT = new Set(['node_modules', 'dist', 'public']);
const SOURCE = /\.(?:ts|tsx|mjs|js|sql)$/;
/** A block, whole lines below each other, or the rest of a line. */
const COMMENT = /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*\n)+|(?:^|\s)\/\/[^\n]*/gm;
const SQL_COMMENT = /(?:^[ \t]*--[^\n]*\n)+|(?:^|\s)--[^\n]*/gm;
const PER_THOUSAND_MAX = 3;

/** Pronouns in place of nouns, and phrases of this project that no outsider knows. */
const DIALECT = [
  ...['what', 'who', 'whom', 'whose', 'whoever', 'whatever', 'nobody', 'somebody', 'anybody', 'whether'],
  ...['of which', 'anew', 'at once', 'stands', 'of its own', 'as it is'],
];
const IS_DIALECT = new RegExp(String.raw`\b(?:${DIALECT.join('|')})\b`, 'g');
const IS_QUESTION = /^(?:What|Who|Whether|How|Where|Whose)\b/;

const root = process.argv[2] ?? '.';

function* sourcesIn(folder) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (LEFT_OUT.has(entry.name)) continue;
    if (entry.isDirectory()) yield* sourcesIn(path);
    else if (SOURCE.test(entry.name) && !entry.name.endsWith('.d.ts')) yield path;
  }
}

const plain = (comment) =>
  comment
    .replaceAll(/\*+|\/+|--+/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

for (const folder of FOLDERS.filter((name) => existsSync(join(root, name)))) {
  let words = 0;
  const found = new Map();
  for (const path of sourcesIn(folder)) {
    const text = readFileSync(join(root, path), 'utf8');
    for (const comment of text.match(path.endsWith('.sql') ? SQL_COMMENT : COMMENT) ?? []) {
      const sentence = plain(comment);
      if (IS_QUESTION.test(sentence)) {
        process.exitCode = 1;
        console.log(`${path}: a comment is an indirect question: ${sentence.slice(0, 60)}`);
      }
      const says = sentence.toLowerCase();
      words += says.match(/[a-z']+/g)?.length ?? 0;
      const count = says.match(IS_DIALECT)?.length ?? 0;
      if (count > 0) found.set(path, (found.get(path) ?? 0) + count);
    }
  }
  const total = [...found.values()].reduce((sum, count) => sum + count, 0);
  const rate = words === 0 ? 0 : (1000 * total) / words;
  if (rate <= PER_THOUSAND_MAX) continue;
  process.exitCode = 1;
  console.log(`${folder}: ${rate.toFixed(1)} dialect words per 1,000 in comments, at most ${String(PER_THOUSAND_MAX)}`);
  const most = [...found].sort((a, b) => b[1] - a[1]).slice(0, 10);
  for (const [path, count] of most) console.log(`  ${String(count).padStart(4)}  ${path}`);
}
