/**
 * Finds the order that a repeated request replays: that of the same request in progress in this process, or that of a
 * recently seen key. Any other repetition is found by the statement that takes an order, since keys are unique in
 * Postgres.
 */
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { withDeadline } from '../../platform/support/clock.js';
import { KeyCache } from './key-cache.js';
import { OrdersByKey } from './order-rows.js';
import { WAIT_MS } from './purchase-queue.js';
import type { Accepted, Purchase } from './purchase.js';
import { keyReused } from './refusals.js';
import { ReplayCounts } from './replay-counts.js';

@Injectable()
export class Replays {
  /** The first request in progress of each project and key. The same request waits for its outcome. */
  private readonly inProgress = new Map<string, { readonly hash: Buffer; readonly outcome: Promise<Accepted> }>();

  constructor(
    private readonly keyCache: KeyCache,
    private readonly ordersByKey: OrdersByKey,
    private readonly replayCounts: ReplayCounts,
  ) {}

  /**
   * Waits for the same request if it is in progress now, and replays its order. Returns undefined if none is, or if it
   * is refused. A refusal leaves nothing to replay, and may concern only that request: its API key, or its statements
   * about the quote. A different request of the key is not waited for: the unique index makes this one wait for it, and
   * then compares them.
   */
  async waitForFirst(purchase: Purchase): Promise<Accepted | undefined> {
    const first = purchase.key.isGiven ? this.inProgress.get(nameOf(purchase)) : undefined;
    if (first?.hash.equals(purchase.hash) !== true) return undefined;
    const accepted = await withDeadline(first.outcome.catch(ignoreRefusal), WAIT_MS, 'the first request of this key');
    return accepted === undefined ? undefined : { row: accepted.row, isReplay: true };
  }

  /** Makes the same requests that arrive before the outcome wait for it, unless they already wait for another one. */
  shareOutcome(purchase: Purchase, outcome: Promise<Accepted>): void {
    const name = nameOf(purchase);
    if (!purchase.key.isGiven || this.inProgress.has(name)) return;
    this.inProgress.set(name, { hash: purchase.hash, outcome });
    outcome.catch(() => undefined).finally(() => this.inProgress.delete(name));
  }

  /** Returns the order of a recently seen key, if any. Throws 422 if a different request created it. */
  async findSeenOrder({ project, key, hash }: Purchase): Promise<Accepted | undefined> {
    const isSeen = key.isGiven && (await this.keyCache.hasSeen(project.id, key.value));
    const row = isSeen ? await this.ordersByKey.find(project.id, key.value) : undefined;
    if (row === undefined) return undefined;
    if (!row.request_hash.equals(hash)) throw keyReused();
    return { row, isReplay: true };
  }

  /** Counts a replay of the order, for its page. */
  countReplay({ row }: Accepted): void {
    this.replayCounts.countReplay(row.id);
  }
}

function nameOf({ project, key }: Purchase): string {
  return `${project.id}\n${key.value}`;
}

/** Returns undefined for a refusal, which leaves nothing behind. Rethrows any other error: its outcome is unknown. */
function ignoreRefusal(error: unknown): undefined {
  if (error instanceof ApiError && error.code !== 'SERVICE_UNAVAILABLE' && error.code !== 'INTERNAL_ERROR')
    return undefined;
  throw error;
}
