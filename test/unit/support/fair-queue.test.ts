import type { ApiError } from '../../../src/domain/errors.js';
import { FairQueue } from '../../../src/platform/support/fair-queue.js';

const LIMITS = { total: 3, perProject: 2, waitingMax: 100, waitingPerProject: 50, waitMs: 60_000 };

/** Runs work of named projects until a test ends it. */
class QueueHarness {
  /** In the order of their starts. */
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();
  readonly queue: FairQueue;

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.queue = new FairQueue({ ...LIMITS, ...limits });
  }

  /** Resolves with the name when it has run, or with its refusal's code. */
  async ask(project: string, name: string): Promise<string> {
    try {
      return await this.queue.run(project, async () => {
        this.begun.push(name);
        await new Promise<void>((resolve) => this.ends.set(name, resolve));
        return name;
      });
    } catch (error) {
      return (error as ApiError).code;
    }
  }

  async end(name: string): Promise<void> {
    this.ends.get(name)?.();
    await new Promise(setImmediate);
  }
}

describe('a fair queue', () => {
  test('limits each project and the total, and lets waiting projects take turns', async () => {
    const harness = new QueueHarness();
    const asked = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map(async (name) => harness.ask(name[0]!, name));
    await new Promise(setImmediate);
    expect(harness.begun).toEqual(['a1', 'a2', 'b1']);
    for (const name of ['a1', 'a2', 'b1']) await harness.end(name);
    // Projects take turns, however much each has requested.
    expect(harness.begun.slice(3)).toEqual(['a3', 'b2', 'c1']);
    for (const name of ['b2', 'c1', 'a3', 'a4', 'a5']) await harness.end(name);
    expect(await Promise.all(asked)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1']);
  });

  test('limits the waiting work of a project, and leaves the other places to others', async () => {
    const harness = new QueueHarness({ waitingMax: 3, waitingPerProject: 2 });
    const asked = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'c1'].map(async (name) =>
      harness.ask(name[0]!, name),
    );
    await new Promise(setImmediate);
    // a5 and a6 exceed their project's places, c1 exceeds all places.
    expect(harness.begun).toEqual(['a1', 'a2', 'b1']);
    for (const name of ['a1', 'a2', 'b1', 'a3', 'b2', 'a4']) await harness.end(name);
    expect(await Promise.all(asked)).toEqual([
      ...['a1', 'a2', 'a3', 'a4', 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE', 'b1', 'b2', 'SERVICE_UNAVAILABLE'],
    ]);
  });

  test('rejects work that waited too long, with Retry-After, and serves the next', async () => {
    const harness = new QueueHarness({ total: 1, waitMs: 1 });
    const first = harness.ask('a', 'a1');
    const late = harness.queue.run('b', () => Promise.resolve()).catch((error: unknown) => error);
    expect(await late).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSec: 1 });
    const next = harness.ask('c', 'c1');
    await harness.end('a1');
    await harness.end('c1');
    expect(await Promise.all([first, next])).toEqual(['a1', 'c1']);
  });

  test('failing work releases its place', async () => {
    const harness = new QueueHarness({ total: 1 });
    const failing = harness.queue.run('a', () => Promise.reject(new Error('broken')));
    const next = harness.ask('b', 'b1');
    await expect(failing).rejects.toThrow('broken');
    await new Promise(setImmediate);
    await harness.end('b1');
    expect(await next).toBe('b1');
  });
});
