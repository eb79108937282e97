/** Renews leases while their work continues, so that slow work is not claimed by a second worker. */
import { monotonicMs, sleep } from './clock.js';

const RENEWALS_PER_LEASE = 3;

interface LeaseOptions {
  readonly leaseSec: number;
  /** Work that takes longer counts as stuck: its lease expires, and another worker takes over. */
  readonly maxMs: number;
  readonly renew: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** Renews a fresh lease until `done` aborts or `maxMs` has passed. Never rejects. */
export async function keepLease({ leaseSec, maxMs, renew, onFailure }: LeaseOptions, done: AbortSignal): Promise<void> {
  const endsAtMs = monotonicMs() + maxMs;
  for (;;) {
    await sleep((leaseSec * 1000) / RENEWALS_PER_LEASE, done);
    if (done.aborted || monotonicMs() > endsAtMs) return;
    await renew().catch(onFailure);
  }
}
