// packages/local leaves no child process behind, even when its parent is killed.
import { spawn, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startNode } from '../../../packages/local/src/processes.js';
import { limited, until } from '../../../packages/local/src/wait.js';

const setup = (file: string): string => fileURLToPath(new URL(`../../setup/${file}`, import.meta.url));
const child = setup('child.mjs');

interface Owned {
  pids: number[];
  databaseUrl: string;
  redisUrl: string;
}

/** A zombie that waits for its parent counts as ended. */
function isAlive(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}

async function untilDead(pids: number[], limitMs: number): Promise<void> {
  await until(() => (pids.some(isAlive) ? undefined : true), limitMs, `the end of ${pids.join(', ')}`);
}

async function startOwner(): Promise<{ pid: number; kill: (signal: NodeJS.Signals) => void; owned: Owned }> {
  const owner = spawn(process.execPath, [setup('owner.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const line = new Promise<string>((resolve, reject) => {
    createInterface({ input: owner.stdout }).once('line', resolve);
    owner.once('exit', (code) => {
      reject(new Error(`the owner ended with ${String(code)}`));
    });
  });
  const owned = JSON.parse(await limited(line, 40_000, 'the owner becoming ready')) as Owned;
  return { pid: owner.pid!, kill: (signal) => owner.kill(signal), owned };
}

function dataDirOf(pid: number): string {
  const command = execFileSync('ps', ['-o', 'args=', '-ww', '-p', String(pid)], { encoding: 'utf8' });
  return /-D (\S+)/.exec(command)![1]!;
}

test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'after %s of the owner, Postgres, Redis and our own processes are gone within 5 s, and the data directory too',
  async (signal) => {
    const owner = await startOwner();
    const dataDir = dataDirOf(owner.owned.pids[0]!);
    expect(owner.owned.pids.every(isAlive)).toBe(true);
    owner.kill(signal);
    await untilDead([owner.pid, ...owner.owned.pids], 5_000);
    await until(() => (existsSync(dataDir) ? undefined : true), 5_000, 'the removal of the data directory');
  },
);

test('a killed guard does not leave its process behind', async () => {
  const started = await startNode(child, { name: 'child', args: ['ready'], readyWhen: () => true });
  const guard = Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(started.pid)], { encoding: 'utf8' }));
  process.kill(guard, 'SIGKILL');
  await untilDead([started.pid], 5_000);
  await expect(started.exited).resolves.toBe(-1);
  await started.stop();
});

test('a process is ready when it prints so, and its output is handed over', async () => {
  const started = await startNode(child, {
    name: 'child',
    args: ['ready'],
    env: { SEEN: 'this' },
    readyWhen: (line) => JSON.parse(line) as unknown,
    stopGraceMs: 200,
  });
  expect(started.ready).toEqual({ port: 4711, seen: 'this' });
  await started.stop();
});

test('a process that ignores SIGTERM is ended all the same', async () => {
  const started = await startNode(child, { name: 'child', readyWhen: () => true, stopGraceMs: 200 });
  await started.stop();
  expect(isAlive(started.pid)).toBe(false);
  await expect(started.exited).resolves.toBe(128 + 9);
});

test('the guard of a process that has ended by itself ends too, before it is stopped', async () => {
  const started = await startNode(child, { name: 'child', readyWhen: () => true });
  const guard = Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(started.pid)], { encoding: 'utf8' }));
  expect(isAlive(guard)).toBe(true);
  process.kill(started.pid, 'SIGKILL');
  await untilDead([started.pid, guard], 3_000);
});

test('a process that ends before it is ready has its last output shown', async () => {
  const starting = startNode(child, { name: 'child', args: ['dies'], readyWhen: () => true });
  await expect(starting).rejects.toThrow(/child ended with code 3 before it was ready[^]*the reason why/);
});

test('a process that never becomes ready is ended at the limit', async () => {
  const lines: string[] = [];
  const starting = startNode(child, {
    name: 'child',
    args: ['silent'],
    readyWhen: (line) => (line === 'yes' ? true : undefined),
    readyLimitMs: 1_000,
    onLine: (line) => lines.push(line),
  });
  await expect(starting).rejects.toThrow(/child becoming ready took longer than 1000 ms[^]*not what you wait for/);
  expect(lines).toEqual(['not what you wait for']);
});
