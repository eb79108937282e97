/**
 * How far a replica is behind, in time: by when this process saw the primary at a position that the replica has not
 * replayed yet. By this process's own clock alone; while nothing is written, nothing is behind. Pure.
 */
import type { ReadMark } from './read-mark.js';

/** Beyond it every second one is forgotten: a lag of hours needs no finer measure. */
const KEPT_MAX = 64;

interface Seen {
  readonly at: ReadMark;
  readonly ms: number;
}

export class Lag {
  /** Positions that were seen at the primary and are not replayed, the oldest first. */
  private ahead: Seen[] = [];

  constructor(private readonly maxMs: number) {}

  /** The primary was seen at this position. */
  wrote(at: ReadMark, ms: number): void {
    // Below what was seen: another server's log, of which the older positions say nothing.
    if (this.ahead.some((seen) => seen.at > at)) this.ahead = [];
    if (this.ahead.at(-1)?.at === at) return;
    this.ahead.push({ at, ms });
    if (this.ahead.length > KEPT_MAX) this.ahead = this.ahead.filter((_, index) => index % 2 === 0);
  }

  /** The replica was seen to have replayed up to this position. */
  replayed(to: ReadMark): void {
    this.ahead = this.ahead.filter(({ at }) => at > to);
  }

  /** Milliseconds, at least: what is not replayed was seen so long ago. 0 when all that was seen is. */
  ms(nowMs: number): number {
    const [oldest] = this.ahead;
    return oldest === undefined ? 0 : nowMs - oldest.ms;
  }

  isTooGreat(nowMs: number): boolean {
    return this.ms(nowMs) > this.maxMs;
  }
}
