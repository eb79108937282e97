/** Leases that outlive their length: renewed while the work goes on, so that slow work does not make two workers of one. */
import { monotonicMs, sleep } from './clock.js';

const RENEWALS_PER_LEASE = 3;

interface LeaseOptions {
  readonly leaseSec: number;
  /** Work that takes longer is stuck: its lease runs out, and another worker goes on. */
  readonly maxMs: number;
  readonly renew: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** Renews a lease that was just taken until `done` aborts, within bounds; never rejects. */
export async function keepLease({ leaseSec, maxMs, renew, onFailure }: LeaseOptions, done: AbortSignal): Promise<void> {
  const endsAtMs = monotonicMs() + maxMs;
  for (;;) {
    await sleep((leaseSec * 1000) / RENEWALS_PER_LEASE, done);
    if (done.aborted || monotonicMs() > endsAtMs) return;
    await renew().catch(onFailure);
  }
}
