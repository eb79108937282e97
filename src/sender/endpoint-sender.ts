/** One endpoint while this process holds it: what is under way to it, in which order it is written, and when it rests. */
import { sleep } from '../base/clock.js';
import type { Claimed } from './delivery-claims.js';

/** Of one endpoint at once. */
const AT_ONCE_MAX = 10;
/** How long a first attempt waits for the one before it to be written: beyond that they may overtake each other. */
const ORDER_WAIT_MS = 5000;

export class EndpointSender implements Claimed {
  readonly underWay = new Map<bigint, Promise<void>>();
  /** Whether the database must be asked what is due. */
  isWanting = true;
  /** By the monotonic clock: nothing is sent before. */
  restUntilMs = 0;
  private lastWritten: Promise<void> = Promise.resolve();

  constructor(
    readonly id: string,
    public fence: number,
    public isFailing: boolean,
  ) {}

  get room(): number {
    return AT_ONCE_MAX - this.underWay.size;
  }

  /** The place of a first attempt among those to this endpoint: it is written after all that were queued before it. */
  nextPlace(): { readonly turn: () => Promise<void>; readonly written: () => void } {
    const before = this.lastWritten;
    let written: () => void = () => undefined;
    this.lastWritten = new Promise((resolve) => (written = resolve));
    return {
      turn: async () => {
        const over = new AbortController();
        await Promise.race([before, sleep(ORDER_WAIT_MS, over.signal)]);
        over.abort();
      },
      written: () => written(),
    };
  }
}
