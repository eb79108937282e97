/** What one wallet has signed in the last minute: every transaction once, with its sum. Bounded by the wallet's limit. */
import { ageMs, type Moment } from './clocks.js';
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
  /** In order of time, oldest first. */
  private readonly byTxid = new Map<string, Counted>();
  private sumSun = 0n;

  find(txid: string): Counted | undefined {
    return this.byTxid.get(txid);
  }

  add(counted: Counted): void {
    if (this.byTxid.has(counted.txid)) return;
    this.byTxid.set(counted.txid, counted);
    this.sumSun += counted.amountSun;
  }

  get count(): number {
    return this.byTxid.size;
  }

  get sun(): bigint {
    return this.sumSun;
  }

  entries(): Iterable<Counted> {
    return this.byTxid.values();
  }

  /** Forgets what is older than the window. */
  prune(now: Moment): void {
    for (const [txid, counted] of this.byTxid) {
      if (ageMs(now, counted) < WINDOW_MS) return;
      this.byTxid.delete(txid);
      this.sumSun -= counted.amountSun;
    }
  }
}
