/** One endpoint while this process holds it: what is under way to it, in which order it is written, and when it rests. */
import { sleep } from '../base/clock.js';
import { FAILURES_MAX } from '../store/entities/webhook-state.entity.js';
import type { Claimed, Wanted } from './delivery-claims.js';

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
  /** Of the last place: whether the next may be written. */
  private lastEnd: Promise<boolean> = Promise.resolve(true);
  /** Of the places that are neither written nor postponed yet: their ends. */
  private readonly open = new Set<Promise<boolean>>();
  private isPostponed = false;
  private hasProbed = false;

  constructor(
    readonly id: string,
    public fence: number,
    public isFailing: boolean,
  ) {}

  get room(): number {
    return AT_ONCE_MAX - this.underWay.size;
  }

  /**
   * What was postponed comes again when all that were queued with it are written or postponed too: those before it are not
   * overtaken by it, and those behind it come again with it.
   */
  get mayBegin(): boolean {
    return !this.isPostponed || this.open.size === 0;
  }

  /** What to ask for. Of an endpoint that is slowed down one, once, beside requested ones: it rests when it is released. */
  wanted(failures: number): Wanted {
    const { id, fence, room } = this;
    if (failures < FAILURES_MAX) return { id, fence, room, isFailing: false };
    const mayProbe = !this.hasProbed && this.underWay.size === 0;
    this.hasProbed ||= mayProbe;
    return { id, fence, room, isFailing: true, isResting: !mayProbe };
  }

  /** The place of a first attempt among those to this endpoint: it is written after all that were queued before it. */
  nextPlace(): Place {
    // The last one of those that were postponed says no.
    const before = this.isPostponed ? Promise.resolve(true) : this.lastEnd;
    this.isPostponed = false;
    let resolveEnd: (mayFollow: boolean) => void = () => undefined;
    const ended = new Promise<boolean>((resolve) => (resolveEnd = resolve));
    this.lastEnd = ended;
    this.open.add(ended);
    const end = (mayFollow: boolean): void => {
      this.open.delete(ended);
      resolveEnd(mayFollow);
    };
    return {
      turn: async () => {
        const over = new AbortController();
        const mayFollow = await Promise.race([before, sleep(ORDER_WAIT_MS, over.signal).then(() => true)]);
        over.abort();
        return mayFollow;
      },
      written: () => end(true),
      postponed: () => {
        this.isPostponed = true;
        end(false);
      },
    };
  }
}

/** Of the calls that end it the first counts. */
export interface Place {
  /** Resolves when it is its turn: true, or false when the one before it comes again later, so that this one must too. */
  readonly turn: () => Promise<boolean>;
  /** It was written, or never will be: the next one may. */
  readonly written: () => void;
  /** It comes again later. */
  readonly postponed: () => void;
}
