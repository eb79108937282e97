import { setTimeout as wait } from 'node:timers/promises';
import { ListQueue } from '../../../src/platform/http/pipeline/list-queue.js';
import { until } from '../../../packages/local/src/wait.js';
import type { Config } from '../../../src/platform/config/config.js';

/** A pool of eight connections: lists may use two of them, and one project one. */
const FEW = { database: { poolMax: 8 } } as unknown as Config;
const HELD_MS = 30;

it('answers immediately, and frees the place of a list only after a rest', async () => {
  const queue = new ListQueue(FEW);
  let isBegun = false;
  const first = queue.run('project', async () => wait(HELD_MS, 'first'));
  const second = queue.run('project', () => {
    isBegun = true;
    return Promise.resolve('second');
  });
  expect(await first).toBe('first');
  // Everything that does not wait for a timer has run by then.
  await new Promise((resolve) => setImmediate(resolve));
  expect(isBegun).toBe(false);
  await until(() => (isBegun ? true : undefined), 5000, 'the second list', 1);
  expect(await second).toBe('second');
});

it('a rest delays no other project, and a failing list ends with its own error', async () => {
  const queue = new ListQueue(FEW);
  await queue.run('project', async () => wait(HELD_MS));
  const other = await queue.run('another', () => Promise.resolve('at once'));
  expect(other).toBe('at once');
  await expect(queue.run('project', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await queue.run('project', () => Promise.resolve('goes on'))).toBe('goes on');
});
