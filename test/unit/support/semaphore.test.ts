// A semaphore: a bounded number of concurrent turns, in order, with a time limit.
import { DeadlineError } from '../../../src/platform/support/clock.js';
import { Semaphore } from '../../../src/platform/support/semaphore.js';

/** Work that ends on command. */
function held(): { readonly work: () => Promise<void>; readonly end: () => void; readonly begun: () => boolean } {
  let end = (): void => undefined;
  let hasBegun = false;
  const over = new Promise<void>((resolve) => (end = resolve));
  const work = async (): Promise<void> => {
    hasBegun = true;
    await over;
  };
  return { work, end: () => end(), begun: () => hasBegun };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('runs at most the allowed number concurrently, and starts waiters in order', async () => {
  const turns = new Semaphore(2);
  const all = Array.from({ length: 5 }, held);
  const runs = all.map(({ work }) => turns.run(work, 0));
  await settle();
  expect(all.map(({ begun }) => begun())).toEqual([true, true, false, false, false]);
  all[1]!.end();
  await settle();
  expect(all.map(({ begun }) => begun())).toEqual([true, true, true, false, false]);
  for (const { end } of all) end();
  await Promise.all(runs);
  expect(all.every(({ begun }) => begun())).toBe(true);
});

test('failing work passes its turn on, and a waiter that timed out gets an error and no turn', async () => {
  const turns = new Semaphore(1);
  const first = held();
  const failing = turns.run(async () => {
    await first.work();
    throw new Error('no');
  }, 0);
  const late = held();
  const tooLate = turns.run(late.work, 1);
  await expect(tooLate).rejects.toThrow(DeadlineError);
  const next = held();
  const waited = turns.run(next.work, 0);
  first.end();
  await expect(failing).rejects.toThrow('no');
  next.end();
  await waited;
  expect([late.begun(), next.begun()]).toEqual([false, true]);
});
