/**
 * Named points before and after every write, signature, send and read at which the crash programme kills the process.
 * `CRASH_AT=point:n` sends SIGKILL when the point is passed for the n-th time. `point:n:stop` sends SIGSTOP instead, so
 * that the process can continue right there. The crash places of the API and of the worker map each point to the code:
 * hooks that are installed only when CRASH_AT is set.
 */

import { isPromise } from 'node:util/types';
import { StartError } from '../../domain/errors.js';

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
  // Building, signing and sending a transaction.
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
  // Finding the transaction on chain.
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
  // Recording its cost.
  'record-cost.before',
  'record-cost.after',
  // Proof of death and its consequences.
  'proof-head.after',
  'proof-absence.after',
  'record-dead.before',
  'record-dead.after',
  'top-up.before',
  'top-up.after',
  // Making up for energy that a reclaim left used, or deciding that it need not be.
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

/** Points of the sender, which handles no orders. */
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

/** Points of a worker that reads blocks for deposits. */
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
  // After its commit.
  'deposit-commit.after',
  'deposit-insert.after',
  'deposit-small.after',
  // For deposits that waited for a rate.
  'deposit-decide.before',
  'deposit-decide.after',
] as const;
export type DepositPoint = (typeof DEPOSIT_POINTS)[number];

/** Points of a worker that closes months. */
export const STATEMENT_POINTS = [
  'statement-cut.before',
  'statement-cut.after',
  // Within the transaction that closes a month for one project.
  'statement-close.before',
  'statement-pass.before',
  // After its commit.
  'statement-close.after',
  'statement-end.before',
  'statement-end.after',
] as const;
export type StatementPoint = (typeof STATEMENT_POINTS)[number];

/** Points of a worker that keeps addresses supplied. */
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

/** Points of a worker that plays the orders of test projects. */
export const TEST_ORDER_POINTS = [
  'test-claim.after',
  'test-move.before',
  'test-move.after',
  // Within the transaction that refunds an order, in this order.
  'test-refund.before',
  'test-refund-entry.before',
  'test-refund-balance.before',
  // After its commit.
  'test-refund.after',
] as const;
export type TestOrderPoint = (typeof TEST_ORDER_POINTS)[number];

export type CrashPoint = (typeof CRASH_POINTS)[number];
/** Points of a worker's tasks other than fulfilment. */
export type WorkerTaskPoint = DepositPoint | StatementPoint | RefillPoint | TestOrderPoint;

/** The armed point. `pass` is called each time the process reaches it. */
export interface CrashTrap {
  readonly point: CrashPoint | SenderPoint | WorkerTaskPoint;
  readonly pass: () => void;
}

/**
 * Returns the trap for `CRASH_AT`: `point:n` kills the process at the n-th passing (default 1), `point:n:stop` stops
 * it. Throws StartError for an unknown point, so that no crash run silently does nothing.
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
    throw new StartError('CONFIGURATION', 'CRASH_AT names no crash point. Unset it: it is only for tests.');
  const signal = match?.[3] === undefined ? 'SIGKILL' : 'SIGSTOP';
  const pass = (): void => {
    remaining -= 1;
    if (remaining === 0) process.kill(process.pid, signal);
  };
  return { point, pass };
}

export type MethodName<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T];
export type ArgsOf<T, K extends keyof T> = T[K] extends (...args: infer A) => unknown ? A : never;

/** Callbacks around a method: `after` on success, `settled` on success and failure. */
export interface Around<Args extends readonly unknown[]> {
  readonly before?: (...args: Args) => void;
  readonly after?: (...args: Args) => void;
  readonly settled?: (...args: Args) => void;
}

/** Hooks one method of one object. An asynchronous method ends when its promise settles. */
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
