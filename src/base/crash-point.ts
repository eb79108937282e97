/**
 * Named places before and after every write, signature, send and read where the crash programme kills the process.
 * `CRASH_AT=point:n` sends SIGKILL when the point is passed for the n-th time, `point:n:stop` SIGSTOP, so that a worker
 * comes back to life right there. Where each point lies is in the crash places of the API and of the worker: hooks
 * around the parts of the process, set when the setting is there and otherwise not at all.
 */

import { isPromise } from 'node:util/types';
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
  'usage-read.before',
  'usage-read.after',
  'build.after',
  'record-built.before',
  'record-built.after',
  // Within the transaction that records a reclaim.
  'record-usage.before',
  'record-usage.after',
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
  // What it burnt.
  'record-cost.before',
  'record-cost.after',
  // Proof of death and its consequences.
  'proof-head.after',
  'proof-absence.after',
  'record-dead.before',
  'record-dead.after',
  'top-up.before',
  'top-up.after',
  // What a reclaim left behind of used energy is made up for, or need not be.
  'weigh.before',
  'weigh.after',
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
  // Events.
  'number.before',
  'number-events.before',
  'number.after',
] as const;

/** Of the sender, which holds no orders. */
export const SENDER_POINTS = [
  'webhook-fresh.before',
  'webhook-fresh.after',
  'webhook-claim.after',
  'webhook-due.after',
  'webhook-send.before',
  'webhook-send.after',
  'webhook-record.before',
  'webhook-record.after',
  'webhook-release.before',
  'webhook-release.after',
] as const;
export type SenderPoint = (typeof SENDER_POINTS)[number];

/** Of a worker that reads blocks for deposits. */
export const DEPOSIT_POINTS = [
  'deposit-claim.before',
  'deposit-claim.after',
  'deposit-read.before',
  'deposit-read.after',
  // Within the transaction that takes a block in, in this order.
  'deposit-cursor.before',
  'deposit-known.before',
  'deposit-small.before',
  'deposit-insert.before',
  'deposit-commit.before',
  // When it is committed.
  'deposit-commit.after',
  'deposit-insert.after',
  'deposit-small.after',
  // Of what waited for a rate.
  'deposit-decide.before',
  'deposit-decide.after',
] as const;
export type DepositPoint = (typeof DEPOSIT_POINTS)[number];

/** Of a worker that closes months. */
export const STATEMENT_POINTS = [
  'statement-cut.before',
  'statement-cut.after',
  // Within the transaction that closes a month for one project.
  'statement-close.before',
  'statement-pass.before',
  // When it is committed.
  'statement-close.after',
  'statement-end.before',
  'statement-end.after',
] as const;
export type StatementPoint = (typeof STATEMENT_POINTS)[number];

/** Of a worker that keeps addresses supplied. */
export const REFILL_POINTS = [
  'use-mark.before',
  'use-mark.after',
  'refill-claim.after',
  'refill-legs.after',
  'refill-buy.before',
  'refill-buy.after',
  'refill-extend.before',
  'refill-extend.after',
  'refill-record.before',
  'refill-record.after',
] as const;
export type RefillPoint = (typeof REFILL_POINTS)[number];

/** Of a worker that plays the orders of test projects. */
export const TEST_ORDER_POINTS = [
  'test-claim.after',
  'test-move.before',
  'test-move.after',
  // Within the transaction that refunds one, in this order.
  'test-refund.before',
  'test-refund-entry.before',
  'test-refund-balance.before',
  // When it is committed.
  'test-refund.after',
] as const;
export type TestOrderPoint = (typeof TEST_ORDER_POINTS)[number];

export type CrashPoint = (typeof CRASH_POINTS)[number];
/** Of what a worker does beside fulfilment. */
export type WorkerTaskPoint = DepositPoint | StatementPoint | RefillPoint | TestOrderPoint;

/** The armed point: `pass` is called each time the process comes to it. */
export interface CrashTrap {
  readonly point: CrashPoint | SenderPoint | WorkerTaskPoint;
  readonly pass: () => void;
}

/**
 * The trap that `CRASH_AT` asks for: `point:n` ends the process at the n-th passing (n defaults to 1), `point:n:stop`
 * stops it; an unknown point is an error, so that no run is silently quiet.
 */
export function crashTrapOf(setting: string | undefined): CrashTrap | undefined {
  if (setting === undefined) return undefined;
  const match = /^([a-z-]+\.[a-z]+)(?::(\d{1,6})(:stop)?)?$/.exec(setting);
  const point = [
    ...[...CRASH_POINTS, ...SENDER_POINTS],
    ...[...DEPOSIT_POINTS, ...STATEMENT_POINTS, ...REFILL_POINTS, ...TEST_ORDER_POINTS],
  ].find((name) => name === match?.[1]);
  let remaining = Number.parseInt(match?.[2] ?? '1', 10);
  if (point === undefined || remaining < 1)
    throw new StartError('CONFIGURATION', 'CRASH_AT names no crash point: unset it; it is for tests.');
  const signal = match?.[3] === undefined ? 'SIGKILL' : 'SIGSTOP';
  const pass = (): void => {
    remaining -= 1;
    if (remaining === 0) process.kill(process.pid, signal);
  };
  return { point, pass };
}

export type MethodName<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T];
export type ArgsOf<T, K extends keyof T> = T[K] extends (...args: infer A) => unknown ? A : never;

/** What is called around a method: `after` when it succeeded, `settled` whatever became of it. */
export interface Around<Args extends readonly unknown[]> {
  readonly before?: (...args: Args) => void;
  readonly after?: (...args: Args) => void;
  readonly settled?: (...args: Args) => void;
}

/** Hooks one method of one object; of an asynchronous one the end is the end of its promise. */
export function around<T extends object, K extends MethodName<T>>(
  target: T,
  method: K,
  { before, after, settled }: Around<ArgsOf<T, K>>,
): void {
  const original = target[method] as (...args: unknown[]) => unknown;
  const hooked = (...args: ArgsOf<T, K>): unknown => {
    before?.(...args);
    const result = original.apply(target, args);
    if (after === undefined && settled === undefined) return result;
    if (!isPromise(result)) {
      (after ?? settled)?.(...args);
      return result;
    }
    return result
      .then((value: unknown) => {
        after?.(...args);
        return value;
      })
      .finally(() => settled?.(...args));
  };
  Object.assign(target, { [method]: hooked });
}
