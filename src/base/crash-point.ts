/**
 * Named places before and after every write, signature, send and read where the crash programme kills the process.
 * `CRASH_AT=point:n` sends SIGKILL when the point is passed for the n-th time, `point:n:stop` SIGSTOP, so that a worker
 * comes back to life right there; unset, passing one costs a comparison.
 */

import { StartError } from '../domain/errors.js';

export const CRASH_POINTS = [
  // API: taking an order.
  'accept.before',
  'accept.after',
  'wake.before',
  'wake.after',
  'answer.before',
  // Claiming work.
  'claim.before',
  'claim.after',
  'claim-woken.before',
  'claim-woken.after',
  'load.after',
  'claim-ending.before',
  'claim-ending.after',
  'release.before',
  'release.after',
  // A transaction on its way out.
  'head.before',
  'head.after',
  'reference.before',
  'reference.after',
  'build.after',
  'record-built.before',
  'record-built.after',
  'sign.before',
  'sign.after',
  'record-signed.before',
  'record-signed.after',
  'record-sending.before',
  'record-sending.after',
  'broadcast.before',
  'broadcast.after',
  'record-broadcast.before',
  'record-broadcast.after',
  'drop.before',
  'drop.after',
  // Looking it up.
  'lookup.before',
  'lookup.after',
  'block.before',
  'block.after',
  'record-included.before',
  'record-included.after',
  'fall-away.before',
  'fall-away.after',
  'solid.before',
  'solid.after',
  'record-solid.before',
  'record-solid.after',
  // Proof of death and its consequences.
  'proof-head.after',
  'proof-absence.after',
  'record-dead.before',
  'record-dead.after',
  'top-up.before',
  'top-up.after',
  'give-up.before',
  'give-up.after',
  'undo.before',
  'undo.after',
  'refund.before',
  'refund.after',
  'unresolved.before',
  'unresolved.after',
  // Capacity.
  'pool-read.before',
  'pool-read.after',
  'pool-write.before',
  'pool-write.after',
] as const;

export type CrashPoint = (typeof CRASH_POINTS)[number];

interface Armed {
  readonly point: string;
  readonly signal: 'SIGKILL' | 'SIGSTOP';
  remaining: number;
}

let armed: Armed | undefined;

/** Arms one point from `point:n` or `point:n:stop` (n defaults to 1); an unknown point is an error, so that no run is silently quiet. */
export function armCrashPoint(setting: string | undefined): void {
  if (setting === undefined) {
    armed = undefined;
    return;
  }
  const match = /^([a-z-]+\.[a-z]+)(?::(\d{1,6})(:stop)?)?$/.exec(setting);
  const point = CRASH_POINTS.find((name) => name === match?.[1]);
  const remaining = Number.parseInt(match?.[2] ?? '1', 10);
  if (point === undefined || remaining < 1)
    throw new StartError('CONFIGURATION', 'CRASH_AT names no crash point: unset it; it is for tests.');
  armed = { point, remaining, signal: match?.[3] === undefined ? 'SIGKILL' : 'SIGSTOP' };
}

/** Passes a point; ends or stops the process there and then when it is the armed one. */
export function crashPoint(point: CrashPoint): void {
  if (armed?.point !== point) return;
  armed.remaining -= 1;
  if (armed.remaining === 0) process.kill(process.pid, armed.signal);
}
