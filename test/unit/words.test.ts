// The vocabulary check itself: findings, allowances, and errors about unused allowances.
import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('../words/run.mjs', import.meta.url));
const LIST = `export const PLACES = ['src', 'README.md'];
export const LEFT_OUT = [/^src\\/frozen$/];
export const WORDS = [
  { find: 'desks?', say: 'CLI context', allow: [[/^src\\/allowed\\.ts$/, 'desk_id']] },
  { find: 'somebody', say: 'the operator' },
];
`;

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'words-'));
  await mkdir(join(root, 'src', 'frozen'), { recursive: true });
  await writeFile(join(root, 'list.mjs'), LIST);
  await writeFile(join(root, 'src', 'allowed.ts'), 'const column = "desk_id";\n');
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

/** Returns the printed lines and the exit code. */
async function check(): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [RUN, root, join(root, 'list.mjs')], (error, _stdout, stderr) => {
      resolve({
        code: error === null ? 0 : Number(error.code),
        lines: stderr.split('\n').filter((line) => line !== ''),
      });
    });
  });
}

test('the check of words passes where every use is allowed or left out', async () => {
  await writeFile(join(root, 'src', 'frozen', 'old.ts'), '// somebody at a desk\n');
  await writeFile(join(root, 'README.md'), 'Nothing of the kind: a desktop.\n');
  expect(await check()).toEqual({ code: 0, lines: [] });
});

test('the check of words finds a word in a text, in an identifier and in the name of a file', async () => {
  await writeFile(join(root, 'src', 'plain.ts'), 'const a = 1;\nconst deskOf = somebodyElse;\n');
  await writeFile(join(root, 'src', 'cli-desk.ts'), '');
  expect(await check()).toEqual({
    code: 1,
    lines: [
      'src/cli-desk.ts:0: "desk": say CLI context',
      'src/plain.ts:2: "desk": say CLI context',
      'src/plain.ts:2: "somebody": say the operator',
    ],
  });
});

test('the check of words judges what stands beside an allowed use', async () => {
  await writeFile(join(root, 'src', 'allowed.ts'), 'const column = "desk_id"; // of a desk\n');
  expect(await check()).toEqual({ code: 1, lines: ['src/allowed.ts:1: "desk": say CLI context'] });
});

test('the check of words reports an allowance that nothing needs', async () => {
  await writeFile(join(root, 'src', 'allowed.ts'), 'const column = 1;\n');
  const { code, lines } = await check();
  expect(code).toBe(1);
  expect(lines).toEqual([expect.stringContaining('matches nothing: desk_id')]);
});
