/**
 * The signer's clocks. Ages across processes need two. The wall clock survives a reboot but can be set; the machine's
 * monotonic clock cannot be set but restarts at a reboot. The shorter age counts, so that neither a restart nor a set
 * clock lifts a limit early. Entries of the present process age by the monotonic clock alone, because a wall clock set
 * back would stop their ageing.
 */
import { nowMs } from '../../platform/support/clock.js';

export interface SignerClocks {
  /** Milliseconds since the start of the machine (Linux: CLOCK_MONOTONIC), the same in every process. */
  readonly monotonicMs: () => number;
  /** Milliseconds since the epoch by this machine's clock. */
  readonly wallMs: () => number;
}

/** A moment on both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const MACHINE_CLOCKS: SignerClocks = {
  monotonicMs: () => Number(process.hrtime.bigint() / 1_000_000n),
  wallMs: nowMs,
};

export function momentOf(clocks: SignerClocks): Moment {
  return { monotonicMs: clocks.monotonicMs(), wallMs: clocks.wallMs() };
}

/** Returns the age of `then`, at least 0: the shorter of the two clocks' ages. */
export function ageMs(now: Moment, then: Moment): number {
  const wall = now.wallMs - then.wallMs;
  const monotonic = now.monotonicMs - then.monotonicMs;
  return Math.max(0, monotonic < 0 ? wall : Math.min(wall, monotonic));
}
