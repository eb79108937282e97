/** An endpoint held by this process: its deliveries in progress, their write order, and its rest. */
import { sleep } from '../../platform/support/clock.js';
import { FAILURES_MAX } from '../../platform/database/entities/webhook-state.entity.js';
import type { ClaimedEndpoint, DueRequest } from './delivery-claims.js';

/** Concurrent requests per endpoint. */
const CONCURRENT_MAX = 10;
/** Time that a first attempt waits until the previous one is written. After it, deliveries may be out of order. */
const ORDER_WAIT_MS = 5000;

export class EndpointSender implements ClaimedEndpoint {
  readonly attempts = new Map<bigint, Promise<void>>();
  /** True if due deliveries must be read from the database. */
  needsRead = true;
  /** True if more may have been due when deliveries were last read. */
  mayHaveMore = false;
  /** Nothing is sent before this monotonic time. */
  restUntilMs = 0;
  /** Result of the last place: true if the next may be written. */
  private lastPlaceEnd: Promise<boolean> = Promise.resolve(true);
  /** Ends of the places that are neither written nor postponed. */
  private readonly openPlaces = new Set<Promise<boolean>>();
  private isPostponed = false;
  private hasProbed = false;

  constructor(
    readonly id: string,
    public fence: number,
    public isFailing: boolean,
  ) {}

  get room(): number {
    return CONCURRENT_MAX - this.attempts.size;
  }

  /**
   * Postponed deliveries are read again once all places queued with them are written or postponed. They then overtake
   * none before them, and those behind them are read together with them.
   */
  get mayBegin(): boolean {
    return !this.isPostponed || this.openPlaces.size === 0;
  }

  /** Takes over a new claim of this endpoint: it has new deliveries. */
  claimAgain(fence: number, isFailing: boolean): void {
    this.fence = fence;
    this.isFailing = isFailing;
    this.needsRead = true;
  }

  /**
   * Returns the request for due deliveries. A slowed endpoint gets one probe per claim, besides requested deliveries,
   * and rests after its release.
   */
  newDueRequest(failures: number): DueRequest {
    const { id, fence, room } = this;
    if (failures < FAILURES_MAX) return { id, fence, room, isFailing: false };
    const mayProbe = !this.hasProbed && this.attempts.size === 0;
    this.hasProbed ||= mayProbe;
    return { id, fence, room, isFailing: true, isResting: !mayProbe };
  }

  /** Returns a place for a first attempt; it is written after all places queued before it. */
  takePlace(): Place {
    // After a postponement the last place would answer false.
    const before = this.isPostponed ? Promise.resolve(true) : this.lastPlaceEnd;
    this.isPostponed = false;
    let resolveEnd: (mayFollow: boolean) => void = () => undefined;
    const ended = new Promise<boolean>((resolve) => (resolveEnd = resolve));
    this.lastPlaceEnd = ended;
    this.openPlaces.add(ended);
    const end = (mayFollow: boolean): void => {
      this.openPlaces.delete(ended);
      resolveEnd(mayFollow);
    };
    return {
      waitForTurn: async () => {
        const over = new AbortController();
        const mayFollow = await Promise.race([before, sleep(ORDER_WAIT_MS, over.signal).then(() => true)]);
        over.abort();
        return mayFollow;
      },
      markWritten: () => end(true),
      markPostponed: () => {
        this.isPostponed = true;
        end(false);
      },
    };
  }
}

/** The first call that ends the place counts. */
export interface Place {
  /**
   * Resolves when it is its turn: true, or false if the place before it was postponed, so that this one must be too.
   */
  readonly waitForTurn: () => Promise<boolean>;
  /** It was written or never will be; the next may be. */
  readonly markWritten: () => void;
  /** It is attempted again later. */
  readonly markPostponed: () => void;
}
