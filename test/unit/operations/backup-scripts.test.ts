// The backup and restore scripts, with stubs for the Postgres tools that record their calls. docker/check.sh runs the
// scripts with the real tools.
import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { until } from '../../../packages/local/src/wait.js';

const scripts = fileURLToPath(new URL('../../../docker/', import.meta.url));
let dir: string;
let dumps: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'energy-backup-scripts-'));
  dumps = mkdtempSync(join(dir, 'dumps-'));
  tool('pg_dump', 'for last; do case $last in --file=*) echo dump > "${last#--file=}";; esac; done');
  tool('pg_restore', ':');
  tool('psql', '[[ $* == *--command* ]] || cat > /dev/null; echo 0');
  tool('cli', 'exit "${CLI_CODE:-0}"');
});

afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** Writes a program that records its arguments and its password, then runs `work`. */
function tool(name: string, work: string): void {
  const file = join(dir, name);
  const note = `printf '%s\\t' ${name} "$*" "\${PGPASSWORD-none}" >> '${dir}/calls'; echo >> '${dir}/calls'`;
  writeFileSync(file, `#!/bin/bash\n${note}\n${work}\n`);
  chmodSync(file, 0o755);
}

interface Call {
  readonly name: string;
  readonly args: string;
  readonly password: string;
}
const calls = (): Call[] =>
  readFileSync(join(dir, 'calls'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))
    .map(([name = '', args = '', password = '']) => ({ name, args, password }));

async function run(script: string, args: readonly string[], env: Record<string, string>): Promise<string> {
  const done = await promisify(execFile)(join(scripts, script), [...args], {
    env: { PATH: `${dir}:${process.env['PATH'] ?? ''}`, ...env },
    timeout: 20_000,
  });
  return done.stdout.trim();
}

const PASSWORD = 'p@ss:w/o r%d\\n';
const SECRET_URL = `postgres://energy:${encodeURIComponent(PASSWORD)}@db.internal:5433/energy?sslmode=require`;
/** Maximum age of an order that is not settled, in `verify`. */
const SETTLE_WITHIN_SEC = 900;
const OPEN_URL = 'postgres://energy@db.internal:5433/energy?sslmode=require';

test('no script puts the database password into process arguments, and every tool gets it', async () => {
  const file = await run('backup.sh', [dumps], { DATABASE_URL: SECRET_URL });
  await run('restore.sh', [file], { DATABASE_URL: SECRET_URL });
  await run('restore-drill.sh', [dumps], { DATABASE_URL: SECRET_URL, CLI: 'cli' });
  const made = calls();
  expect(made.map(({ name }) => name)).toEqual(expect.arrayContaining(['pg_dump', 'pg_restore', 'psql', 'cli']));
  const secrets = [PASSWORD, encodeURIComponent(PASSWORD), 'p%40ss', 'p@ss'];
  for (const { args } of made) expect(secrets.filter((secret) => args.includes(secret))).toEqual([]);
  expect(made.some(({ args }) => args.includes(OPEN_URL))).toBe(true);
  const connected = made.filter(({ args }) => args.includes('postgres://'));
  expect(connected.length).toBeGreaterThan(6);
  expect([...new Set(connected.map(({ password }) => password))]).toEqual([PASSWORD]);
});

test('reads the URL from a file, and leaves a URL without a password unchanged', async () => {
  const urlFile = join(dir, 'url');
  writeFileSync(urlFile, `${OPEN_URL}\n`, { mode: 0o600 });
  await run('backup.sh', [dumps], { DATABASE_URL_FILE: urlFile });
  expect(calls()[0]).toMatchObject({ name: 'pg_dump', password: 'none' });
  expect(calls()[0]!.args).toContain(`--dbname=${OPEN_URL}`);
});

test.each([
  ['postgres://energy@db/energy?sslmode=require&password=secret', /before the host/],
  ['mysql://energy:secret@db/energy', /must begin with postgres/],
  ['', /DATABASE_URL/],
])('rejects a URL that would appear in the arguments: %s', async (url, says) => {
  const refused = run('backup.sh', [dumps], { DATABASE_URL: url });
  await expect(refused).rejects.toThrow(says);
  await expect(refused).rejects.not.toThrow(/\bsecret\b/);
  expect(readdirSync(dir)).not.toContain('calls');
});

test('keeps the newest dumps and one for each older day, and leaves other files alone', async () => {
  const old = (day: string, hour: string) => `energy-202601${day}T${hour}0000Z.dump`;
  const days = ['01', '02', '03', '04', '05', '06'];
  for (const day of days) for (const hour of ['03', '15', '21']) writeFileSync(join(dumps, old(day, hour)), '');
  writeFileSync(join(dumps, 'notes.txt'), '');
  const newest = await run('backup.sh', [dumps], { DATABASE_URL: OPEN_URL, KEEP_NEWEST: '3', KEEP_DAYS: '2' });
  const kept = [newest.split('/').at(-1)!, old('06', '21'), old('06', '15'), old('05', '21'), old('04', '21')];
  expect(readdirSync(dumps).sort()).toEqual(['.backup-success', ...kept, 'notes.txt'].sort());
});

test('a failed dump leaves the earlier ones and ends with its exit code', async () => {
  writeFileSync(join(dumps, 'energy-20260101T000000Z.dump'), '');
  tool('pg_dump', 'exit 3');
  await expect(run('backup.sh', [dumps], { DATABASE_URL: OPEN_URL, KEEP_NEWEST: '0' })).rejects.toMatchObject({
    code: 3,
  });
  expect(readdirSync(dumps).sort()).toEqual(['.backup-failure', 'energy-20260101T000000Z.dump']);
});

test('a drill restores the newest dump into a separate database, and always drops it', async () => {
  for (const day of ['01', '02']) writeFileSync(join(dumps, `energy-202601${day}T000000Z.dump`), '');
  const drill = async (code: string) =>
    run('restore-drill.sh', [dumps], { DATABASE_URL: SECRET_URL, CLI: 'cli', CLI_CODE: code });
  expect(await drill('0')).toContain('energy-20260102T000000Z.dump can be restored');
  await expect(drill('1')).rejects.toMatchObject({ code: 1 });
  const made = calls();
  const scratch = made.flatMap(({ args }) => /CREATE DATABASE (energy_drill_\w+)/.exec(args)?.[1] ?? []);
  const dropped = made.flatMap(({ args }) => /DROP DATABASE IF EXISTS (energy_drill_\w+)/.exec(args)?.[1] ?? []);
  expect(scratch).toHaveLength(2);
  expect(dropped).toEqual(scratch);
  const restored = made.filter(({ name, args }) => name === 'pg_restore' && args.includes('--dbname='));
  expect(restored.map(({ args }) => args)).toEqual(
    scratch.map((name) => expect.stringContaining(`/${name}?sslmode=require`) as string),
  );
});

test('a drill allows open orders the age of the dump', async () => {
  const taken = Date.UTC(2026, 0, 2, 3, 4, 5);
  writeFileSync(join(dumps, 'energy-20260102T030405Z.dump'), '');
  await run('restore-drill.sh', [dumps], { DATABASE_URL: SECRET_URL, CLI: 'cli' });
  const [verified] = calls().flatMap(({ args }) => /^verify --no-chain --settle-within (\d+)$/.exec(args)?.[1] ?? []);
  const sinceDump = (): number => Math.floor((Date.now() - taken) / 1000);
  expect(Number(verified)).toBeLessThanOrEqual(sinceDump() + SETTLE_WITHIN_SEC);
  expect(Number(verified)).toBeGreaterThan(sinceDump());
});

function repeat(every: string, mark: string, command: readonly string[]) {
  return spawn(join(scripts, 'repeat.sh'), [mark, ...command], {
    env: { EVERY_SEC: every, PATH: `${dir}:${process.env['PATH'] ?? ''}`, DATABASE_URL: SECRET_URL, CLI: 'cli' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('a repeated backup marks its success, and ends all its processes at SIGTERM', async () => {
  const mark = join(dir, 'mark');
  const repeated = repeat('120', mark, [join(scripts, 'backup.sh'), dumps]);
  try {
    await until(() => Promise.resolve(existsSync(mark) ? true : undefined), 30_000, 'the first backup');
    expect(readdirSync(dumps)).toContainEqual(expect.stringMatching(/^energy-.*\.dump$/));
    // The pipes close once every process that it started has ended.
    const closed = new Promise<number | null>((resolve) => repeated.on('close', resolve));
    repeated.kill('SIGTERM');
    expect(await closed).toBe(0);
  } finally {
    repeated.kill('SIGKILL');
  }
});

test('a repeated drill retries after a failure, and marks only its success', async () => {
  const mark = join(dir, 'mark');
  const sound = join(dir, 'sound');
  writeFileSync(join(dumps, 'energy-20260101T000000Z.dump'), '');
  tool('cli', `[ -e '${sound}' ]`);
  const repeated = repeat('1', mark, [join(scripts, 'restore-drill.sh'), dumps]);
  const drills = () => (existsSync(join(dir, 'calls')) ? calls().filter(({ name }) => name === 'cli').length : 0);
  try {
    const isTriedAgain = () => Promise.resolve(drills() > 1 || existsSync(mark) ? true : undefined);
    await until(isTriedAgain, 30_000, 'the second drill');
    expect(existsSync(mark)).toBe(false);
    writeFileSync(sound, '');
    await until(() => Promise.resolve(existsSync(mark) ? true : undefined), 30_000, 'a drill that passes');
  } finally {
    repeated.kill('SIGTERM');
    await new Promise((resolve) => repeated.on('close', resolve));
  }
});
