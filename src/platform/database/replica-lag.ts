/**
 * Lag of a replica in time: the age of the oldest primary position that this process saw and the replica has not
 * replayed. Uses this process's monotonic clock alone. Without writes there is no lag. Pure.
 */
import type { ReadMark } from './read-mark.js';

/** Beyond this number every second position is dropped: a lag of hours needs no finer measure. */
const KEPT_MAX = 64;

interface Seen {
  readonly at: ReadMark;
  readonly ms: number;
}

export class Lag {
  /** Positions that were seen at the primary and are not replayed, the oldest first. */
  private ahead: Seen[] = [];

  constructor(private readonly maxMs: number) {}

  /** Records a position of the primary. */
  recordWritten(at: ReadMark, ms: number): void {
    // A lower position belongs to another server's log; the older positions say nothing about it.
    if (this.ahead.some((seen) => seen.at > at)) this.ahead = [];
    if (this.ahead.at(-1)?.at === at) return;
    this.ahead.push({ at, ms });
    if (this.ahead.length > KEPT_MAX) this.ahead = this.ahead.filter((_, index) => index % 2 === 0);
  }

  /** Records the position up to which the replica has replayed. */
  recordReplayed(to: ReadMark): void {
    this.ahead = this.ahead.filter(({ at }) => at > to);
  }

  /** Returns the lag in ms, as a lower bound; 0 if every seen position is replayed. */
  ms(nowMs: number): number {
    const [oldest] = this.ahead;
    return oldest === undefined ? 0 : nowMs - oldest.ms;
  }

  isTooGreat(nowMs: number): boolean {
    return this.ms(nowMs) > this.maxMs;
  }
}
