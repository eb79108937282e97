/**
 * The signatures of one wallet in the last minute, each transaction once with its sum. Bounded by the wallet's limit.
 */
import type { Moment } from './clocks.js';
import type { ExpirationAnchor } from './expiration.js';

const WINDOW_MS = 60_000;

/** One counted signature. The state file stores the same data, so a restart forgets none. */
export interface Counted extends Moment {
  readonly wallet: string;
  readonly txid: string;
  /** Amount of a delegation; 0 for an undelegation. */
  readonly amountSun: bigint;
  readonly anchor: ExpirationAnchor;
}

export class Window {
  /** Oldest first; `sinceMs` is a time of this process's monotonic clock. */
  private readonly byTxid = new Map<string, { readonly counted: Counted; readonly sinceMs: number }>();
  private sumSun = 0n;

  find(txid: string): Counted | undefined {
    return this.byTxid.get(txid)?.counted;
  }

  add(counted: Counted, sinceMs = counted.monotonicMs): void {
    if (this.byTxid.has(counted.txid)) return;
    this.byTxid.set(counted.txid, { counted, sinceMs });
    this.sumSun += counted.amountSun;
  }

  get count(): number {
    return this.byTxid.size;
  }

  get sun(): bigint {
    return this.sumSun;
  }

  entries(): readonly Counted[] {
    return [...this.byTxid.values()].map(({ counted }) => counted);
  }

  /** Removes entries older than the window. */
  prune(nowMs: number): void {
    for (const [txid, { counted, sinceMs }] of this.byTxid) {
      if (nowMs - sinceMs < WINDOW_MS) return;
      this.byTxid.delete(txid);
      this.sumSun -= counted.amountSun;
    }
  }
}
