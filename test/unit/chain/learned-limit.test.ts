// The limit learned from a node that throttles: it stays, grows, and approaches the provider's limit.
import { LearnedLimit, lessonAfter, limitAt, type Lesson } from '../../../src/platform/chain/learned-limit.js';

it('a single refusal slows the service down for a minute or two, not for hours', () => {
  const lesson = lessonAfter(40);
  expect(lesson).toEqual({ perSec: 20, calmSec: 15 });
  expect(limitAt(lesson, 0)).toBe(20);
  expect(limitAt(lesson, 15)).toBe(20);
  expect(limitAt(lesson, 40)).toBeGreaterThanOrEqual(40);
  expect(limitAt(lessonAfter(10), 90)).toBeGreaterThanOrEqual(40);
});

it('falls below the limit of a provider within a burst, and stays there ever longer', () => {
  const provider = 15;
  let lesson: Lesson = lessonAfter(200);
  let refusals = 1;
  while (limitAt(lesson, 5) > provider) {
    lesson = lessonAfter({ lesson, ageSec: 5 });
    refusals += 1;
  }
  expect(refusals).toBeLessThanOrEqual(8);
  expect(lesson.calmSec).toBe(15);
  const calms: number[] = [];
  for (let turn = 0; turn < 9; turn += 1) {
    let ageSec = 0;
    while (limitAt(lesson, ageSec) <= provider) ageSec += 1;
    lesson = lessonAfter({ lesson, ageSec });
    expect(limitAt(lesson, 0)).toBeGreaterThanOrEqual(provider / 2);
    calms.push(lesson.calmSec);
  }
  expect(calms).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
});

it('is never so low that no order could be delivered', () => {
  let lesson = lessonAfter(10);
  for (let n = 0; n < 20; n += 1) lesson = lessonAfter({ lesson, ageSec: 1 });
  expect(lesson.perSec).toBe(5);
});

it('an answer that was asked for before a refusal does not replace the limit learned from it', async () => {
  const answers: ((answer: unknown) => void)[] = [];
  const redis = {
    status: 'ready',
    eval: () => new Promise((resolve) => answers.push(resolve)),
    set: () => Promise.resolve('OK'),
  };
  const options = { redis: redis as never, keys: ['limit', 'rates'], process: 'a', sent: () => 40 } as const;
  const limit = new LearnedLimit(options);
  limit.share();
  redis.status = 'reconnecting';
  expect([limit.learn(), limit.learn()]).toEqual([undefined, 20]);
  answers[0]?.(['', -2, 0]);
  await new Promise(setImmediate);
  expect(limit.perSec).toBe(20);
});
