/**
 * Counts failed signatures per source address, in this process. A source over its limit is refused before any look-up.
 * A valid signature from the same address (a shared gateway, a proxy) still passes: otherwise one caller could lock out
 * the others.
 */
import { monotonicMs } from '../../platform/support/clock.js';
import { networkOf } from '../../platform/http/pipeline/source-address.js';

const WINDOW_MS = 60_000;
const SOURCES_MAX = 10_000;

interface Window {
  readonly endsMs: number;
  count: number;
}

export class BadSignatures {
  private readonly windows = new Map<string, Window>();

  /** At most `limit` failures per source in 60 s. The window starts at the first failure. */
  constructor(private readonly limit: number) {}

  /** Returns the seconds until the source may fail again, at least 1; 0 within its limit. */
  blockedSec(source: string): number {
    const window = this.windows.get(networkOf(source));
    if (window === undefined || window.count <= this.limit) return 0;
    const leftMs = window.endsMs - monotonicMs();
    return leftMs > 0 ? Math.max(1, Math.ceil(leftMs / 1000)) : 0;
  }

  /** Counts one failure and returns the new value of `blockedSec`. */
  count(source: string): number {
    const network = networkOf(source);
    const now = monotonicMs();
    const window = this.windows.get(network);
    if (window !== undefined && window.endsMs > now) {
      window.count += 1;
    } else {
      this.windows.delete(network);
      // Insertion order is the order of the windows' ends, so the first is the oldest.
      if (this.windows.size >= SOURCES_MAX) this.windows.delete(this.windows.keys().next().value ?? '');
      this.windows.set(network, { endsMs: now + WINDOW_MS, count: 1 });
    }
    return this.blockedSec(source);
  }
}
