// The crash programme's hooks: every named point has a place, and a hook runs exactly there. That is before a call or
// after its success, and for a statement only after its commit.
import 'reflect-metadata';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { API_PLACES } from '../../../src/apps/api/api-crash-places.js';
import {
  around,
  CRASH_POINTS,
  crashTrapOf,
  DEPOSIT_POINTS,
  REFILL_POINTS,
  SENDER_POINTS,
  STATEMENT_POINTS,
  TEST_ORDER_POINTS,
} from '../../../src/platform/support/crash-point.js';
import { REFILL_PLACES } from '../../../src/modules/auto-delegations/crash-places.js';
import { DEPOSIT_PLACES } from '../../../src/modules/deposits/crash-places.js';
import { STATEMENT_PLACES } from '../../../src/modules/statements/crash-places.js';
import { SENDER_PLACES } from '../../../src/modules/sender/crash-places.js';
import { WORKER_PLACES } from '../../../src/modules/fulfilment/crash-places.js';
import { TEST_ORDER_PLACES } from '../../../src/modules/test-projects/crash-places.js';
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';

async function sourceFiles(): Promise<string[]> {
  const entries = await readdir('src', { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) =>
    entry.isFile() && entry.name.endsWith('.ts') ? [join(entry.parentPath, entry.name)] : [],
  );
}

describe('crash points', () => {
  it('are at least forty, each with one name and one place', () => {
    expect(CRASH_POINTS.length).toBeGreaterThanOrEqual(40);
    expect(new Set(CRASH_POINTS).size).toBe(CRASH_POINTS.length);
    expect([...Object.keys(API_PLACES), ...Object.keys(WORKER_PLACES)].sort()).toEqual([...CRASH_POINTS].sort());
    expect(Object.keys(SENDER_PLACES).sort()).toEqual([...SENDER_POINTS].sort());
    expect(Object.keys(DEPOSIT_PLACES).sort()).toEqual([...DEPOSIT_POINTS].sort());
    expect(Object.keys(REFILL_PLACES).sort()).toEqual([...REFILL_POINTS].sort());
    expect(Object.keys(STATEMENT_PLACES).sort()).toEqual([...STATEMENT_POINTS].sort());
    expect(Object.keys(TEST_ORDER_PLACES).sort()).toEqual([...TEST_ORDER_POINTS].sort());
  });

  it('refer to statements that the code has', async () => {
    const files = await Promise.all(
      (await sourceFiles()).map(async (file) => [file, await readFile(file, 'utf8')] as const),
    );
    const statements = new Set(
      files
        .flatMap(([file, text]) => (file.endsWith('crash-places.ts') ? [] : [...text.matchAll(/name: '([\w-]+)'/g)]))
        .map(([, name]) => name),
    );
    const placed = files.flatMap(([file, text]) =>
      file.endsWith('crash-places.ts')
        ? [...text.matchAll(/statement\('(?:before|after)', '([\w-]+)'/g)].map(([, name]) => name)
        : [],
    );
    expect(placed.length).toBeGreaterThan(40);
    expect(placed.filter((name) => !statements.has(name))).toEqual([]);
  });

  it('that are unknown or counted from zero are rejected, so that no run silently does nothing', () => {
    for (const setting of ['claim.never', 'claim.before:0', 'claim.before:x', 'claim.before:1:pause']) {
      expect(() => crashTrapOf(setting)).toThrow('CRASH_AT');
    }
  });

  it('that are not requested set no trap', () => {
    expect(crashTrapOf(undefined)).toBeUndefined();
  });

  it('end the process at the requested pass, and at no other', () => {
    const signals: unknown[] = [];
    const kill = process.kill.bind(process);
    process.kill = (pid, signal) => {
      if (pid === process.pid) signals.push(signal);
      return true;
    };
    try {
      const killed = crashTrapOf('claim.after:2')!;
      killed.pass();
      expect(signals).toEqual([]);
      killed.pass();
      killed.pass();
      crashTrapOf('claim.after:1:stop')!.pass();
    } finally {
      process.kill = kill;
    }
    expect(signals).toEqual(['SIGKILL', 'SIGSTOP']);
  });
});

describe('a hook around a method', () => {
  const said: string[] = [];
  const say = (text: string) => () => void said.push(text);
  class Part {
    constructor(private readonly name: string) {}
    async works(text: string): Promise<string> {
      await Promise.resolve();
      said.push(text);
      return `${this.name} ${text}`;
    }
    async fails(): Promise<void> {
      await Promise.resolve();
      throw new Error('broken');
    }
    atOnce(): number {
      said.push('at once');
      return 1;
    }
  }

  beforeEach(() => said.splice(0));

  it('runs before a call and after its success, and changes neither answer nor failure', async () => {
    const part = new Part('part');
    around(part, 'works', { before: say('before'), after: say('after'), settled: say('settled') });
    around(part, 'fails', { before: say('before'), after: say('after'), settled: say('settled') });
    around(part, 'atOnce', { before: say('before'), after: say('after') });
    expect(await part.works('done')).toBe('part done');
    expect(said.splice(0)).toEqual(['before', 'done', 'after', 'settled']);
    await expect(part.fails()).rejects.toThrow('broken');
    expect(said.splice(0)).toEqual(['before', 'settled']);
    expect(part.atOnce()).toBe(1);
    expect(said).toEqual(['before', 'at once', 'after']);
  });

  it('around a statement runs when it is committed, not when it is answered', async () => {
    const tx = { query: () => Promise.resolve(said.push('answered')) } as unknown as Transaction;
    const database = {
      query: () => Promise.resolve(said.push('answered')),
      transaction: async (work: (tx: Transaction) => Promise<unknown>) => {
        const result = await work(tx);
        said.push('committed');
        return result;
      },
    } as unknown as Database;
    aroundStatements(database, ['meant'], { before: say('before'), after: say('after') });
    const [meant, other] = [
      { name: 'meant', text: '' },
      { name: 'other', text: '' },
    ];
    await database.query(meant);
    await database.query(other);
    await database.query('meant');
    expect(said.splice(0)).toEqual(['before', 'answered', 'after', 'answered', 'answered']);
    await database.transaction(async (within) => {
      await within.query(other);
      await within.query(meant);
    });
    expect(said.splice(0)).toEqual(['answered', 'before', 'answered', 'committed', 'after']);
    await database.transaction((within) => within.query(other));
    expect(said.splice(0)).toEqual(['answered', 'committed']);
    const failing = database.transaction(async (within) => {
      await within.query(meant);
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(said).toEqual(['before', 'answered']);
  });
});
