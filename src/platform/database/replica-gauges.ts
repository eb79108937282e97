/** Metrics of reads that a replica may answer; absent without a configured replica. */
import { Counter, type Registry } from 'prom-client';
import { addGauge, addGaugeBy } from '../observability/metrics.js';
import { PRIMARY_REASONS, type Replica } from './replica.js';

export function watchReplica(registry: Registry, replica: Replica): void {
  addGaugeBy(
    registry,
    {
      name: 'pg_replica_serving',
      help: '1 for the `host` of `DATABASE_READ_URL` that this process reads; consoles show it too.',
      label: 'host',
    },
    () => {
      const { serving, fault } = replica.state;
      return replica.hosts.map((host) => [host, fault === undefined && host === serving ? 1 : 0]);
    },
  );
  addGauge(
    registry,
    'pg_replica_lag_seconds',
    'Age of the oldest position not yet replayed. Up to 2 s is normal.',
    () => replica.state.lagMs / 1000,
  );
  const reads = new Counter({
    name: 'pg_replica_reads_total',
    help: 'Reads that a replica may answer, by `answered_by` and, for the primary, `reason`: away, lags, behind (lacks rows already shown), fault (ended by the replay).',
    labelNames: ['answered_by', 'reason'] as const,
    registers: [registry],
  });
  if (!replica.isConfigured) return;
  reads.inc({ answered_by: 'replica', reason: 'none' }, 0);
  for (const reason of PRIMARY_REASONS) reads.inc({ answered_by: 'primary', reason }, 0);
  replica.onRead = (by) => {
    if (by === 'replica') reads.inc({ answered_by: 'replica', reason: 'none' });
    else reads.inc({ answered_by: 'primary', reason: by });
  };
}
