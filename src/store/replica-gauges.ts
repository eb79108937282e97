/** Metrics of reads that a replica may answer; absent without a configured replica. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { PRIMARY_REASONS, type Replica } from './replica.js';

export function watchReplica(registry: Registry, replica: Replica): void {
  const registers = [registry];
  new Gauge({
    name: 'pg_replica_serving',
    help: '1 for the host of DATABASE_READ_URL at which this process reads.',
    labelNames: ['host'] as const,
    registers,
    collect() {
      const { serving, fault } = replica.state;
      for (const host of replica.hosts) this.set({ host }, fault === undefined && host === serving ? 1 : 0);
    },
  });
  new Gauge({
    name: 'pg_replica_lag_seconds',
    help: 'How long ago the primary was seen at a position that the replica has not replayed; 0 when it has all that was seen.',
    registers,
    collect() {
      this.set(replica.state.lagMs / 1000);
    },
  });
  const reads = new Counter({
    name: 'pg_replica_reads_total',
    help: 'Reads that the replica could answer: by the replica, or by the primary since it was away, lags, was behind what was shown, or failed.',
    labelNames: ['answered_by', 'reason'] as const,
    registers,
  });
  if (!replica.isConfigured) return;
  reads.inc({ answered_by: 'replica', reason: 'none' }, 0);
  for (const reason of PRIMARY_REASONS) reads.inc({ answered_by: 'primary', reason }, 0);
  replica.onRead = (by) => {
    if (by === 'replica') reads.inc({ answered_by: 'replica', reason: 'none' });
    else reads.inc({ answered_by: 'primary', reason: by });
  };
}
