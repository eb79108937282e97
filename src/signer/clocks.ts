/**
 * The signer's clocks. Ages across processes need two: the wall clock survives a reboot but can be set, the
 * monotonic clock of the machine cannot be set but begins anew at a reboot. The shorter age holds, so that neither
 * a restart nor a clock that was set opens a limit early. What one process counted ages by the monotonic clock alone:
 * the wall clock, set back, would stand still.
 */
import { nowMs } from '../base/clock.js';

export interface SignerClocks {
  /** Milliseconds since the machine was started (Linux: CLOCK_MONOTONIC), the same in every process. */
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

/** How long ago `then` was, at least 0: the shorter of what the two clocks say. */
export function ageMs(now: Moment, then: Moment): number {
  const wall = now.wallMs - then.wallMs;
  const monotonic = now.monotonicMs - then.monotonicMs;
  return Math.max(0, monotonic < 0 ? wall : Math.min(wall, monotonic));
}
