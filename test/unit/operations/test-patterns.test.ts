// The patterns by which scripts and CI choose tests. Jest takes them for regular expressions of paths, and a pattern
// without a file is only noticed where no other pattern beside it has one.
import { readdirSync, readFileSync } from 'node:fs';

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `/test/${path}`);

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const ci = readFileSync('.ci/run', 'utf8');

/** Returns the words of a command behind Jest's options. */
function patternsIn(words: string): string[] {
  return words
    .replaceAll(/(?:^| )(?:-w \S+|--selectProjects(?: \w+)+(?= -|$))/g, '')
    .split(' ')
    .filter((word) => word !== '' && word !== '&' && !word.startsWith('-'));
}

const chosen: readonly (readonly [string, string])[] = [
  ...Object.entries(scripts).flatMap(([name, script]) =>
    patternsIn(/jest\.js (.*)$/.exec(script)?.[1] ?? '').map((pattern) => [`npm run ${name}`, pattern] as const),
  ),
  ...[...ci.matchAll(/npx jest (.*)$/gm)].flatMap(([, words]) =>
    patternsIn(words!).map((pattern) => ['.ci/run', pattern] as const),
  ),
  ...[...ci.matchAll(/'tests test\S* \S+ ([^']+)'/g)].flatMap(([, words]) =>
    patternsIn(words!).map((pattern) => ['.ci/run', pattern] as const),
  ),
];

test.each(chosen)('%s: the pattern %s chooses a test', (_, pattern) => {
  expect(files.filter((path) => new RegExp(pattern).test(path))).not.toEqual([]);
});

test('the scripts and CI are read', () => {
  expect(chosen.map(([where]) => where)).toEqual(
    expect.arrayContaining(['npm run model', 'npm run schema', '.ci/run']),
  );
  expect(chosen.length).toBeGreaterThan(20);
});
