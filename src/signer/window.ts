/** What one wallet has signed in the last minute: every transaction once, with its sum. Bounded by the wallet's limit. */
import type { Moment } from './clocks.js';
import type { ExpirationAnchor } from './expiration.js';

const WINDOW_MS = 60_000;

/** One counted signature. The state file holds the same, so that a restart forgets none. */
export interface Counted extends Moment {
  readonly wallet: string;
  readonly txid: string;
  /** Of a delegation; taking stake back counts 0. */
  readonly amountSun: bigint;
  readonly anchor: ExpirationAnchor;
}

export class Window {
  /** In order of time, oldest first; since when, by the monotonic clock of this process. */
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

  /** Forgets what is older than the window. */
  prune(nowMs: number): void {
    for (const [txid, { counted, sinceMs }] of this.byTxid) {
      if (nowMs - sinceMs < WINDOW_MS) return;
      this.byTxid.delete(txid);
      this.sumSun -= counted.amountSun;
    }
  }
}
