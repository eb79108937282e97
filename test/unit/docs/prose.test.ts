// The checks of comments and of commit subjects, run on folders of their own.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const script = (name: string): string => fileURLToPath(new URL(`../../../scripts/${name}`, import.meta.url));

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'prose-'));
  await mkdir(join(root, 'src'));
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

/** Returns the exit code and the output of a script in the folder of the test. */
async function check(name: string): Promise<{ readonly code: number; readonly says: string }> {
  return run(process.execPath, [script(name)], { cwd: root }).then(
    ({ stdout }) => ({ code: 0, says: stdout }),
    (error: unknown) => {
      const { code, stdout } = error as { readonly code: number; readonly stdout: string };
      return { code, says: stdout };
    },
  );
}

const PLAIN = `// ${'The worker claims an order under a lease. '.repeat(60)}\n`;

it('accepts comments that name their subjects', async () => {
  await writeFile(join(root, 'src', 'plain.ts'), `${PLAIN}export const claim = 1;\n`);
  expect(await check('check-prose.mjs')).toEqual({ code: 0, says: '' });
});

it('ignores dialect outside comments', async () => {
  await writeFile(join(root, 'src', 'code.ts'), `${PLAIN}export const who = 'whoever knows what nobody asked anew';\n`);
  expect(await check('check-prose.mjs')).toMatchObject({ code: 0 });
});

it('refuses more than three dialect words per 1,000, and names the file', async () => {
  await writeFile(join(root, 'src', 'dialect.ts'), `${PLAIN}/* Whoever asks anew is nobody. */\nexport const a = 1;\n`);
  const { code, says } = await check('check-prose.mjs');
  expect(code).toBe(1);
  expect(says).toMatch(/^src: [\d.]+ dialect words per 1,000[^]*src\/dialect\.ts/);
});

it.each([
  ['claim.ts', '/**', ' */'],
  ['claim.ts', '//', ''],
  ['claim.sql', '--', ''],
])('refuses a comment that is an indirect question: %s, %s', async (file, before, after) => {
  await writeFile(join(root, 'src', file), `${before} How orders are claimed.${after}\n`);
  expect(await check('check-prose.mjs')).toEqual({
    code: 1,
    says: `src/${file}: a comment is an indirect question: How orders are claimed.\n`,
  });
});

it.each([
  ['plain.ts', '// The statement shows the way\n// How orders are claimed.\nexport const a = 1; // per order\n'],
  ['plain.sql', '-- The statement shows the way\n-- How orders are claimed.\nSELECT 1;\n'],
])('accepts a question word within a comment: %s', async (file, text) => {
  await writeFile(join(root, 'src', file), text);
  expect(await check('check-prose.mjs')).toEqual({ code: 0, says: '' });
});

it.each([
  ['fix(orders): refuse an expired quote', 0],
  ['feat!: remove the first API', 0],
  ['Fix the orders', 1],
  ['fix(orders): refuse an expired quote and also everything else that comes beside', 1],
])('judges the commit subject "%s"', async (subject, code) => {
  const git = async (...args: string[]): Promise<unknown> =>
    run('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: root });
  await git('init', '-q');
  await git('commit', '-q', '--allow-empty', '-m', subject);
  expect((await check('check-commits.mjs')).code).toBe(code);
});
