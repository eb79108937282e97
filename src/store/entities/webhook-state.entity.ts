/** When an endpoint is due next, which sender holds it, and how it has answered lately. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

/** After so many failures in a row an endpoint is only probed. */
export const FAILURES_MAX = 3;

@Entity('webhook_state')
export class WebhookState {
  @PrimaryColumn({ type: 'uuid', name: 'endpoint_id' })
  endpointId!: string;

  /** While it is held: the end of the lease, or earlier when there is something new. */
  @Column({ ...TIMESTAMPTZ, name: 'due_at', nullable: true })
  dueAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'lease_until', nullable: true })
  leaseUntil!: Date | null;

  @Column({ type: 'uuid', nullable: true })
  holder!: string | null;

  @Column({ type: 'integer' })
  fence!: number;

  /** Deliveries that have failed since the last success. */
  @Column({ type: 'integer' })
  failures!: number;

  @Column({ ...TIMESTAMPTZ, name: 'failing_since', nullable: true })
  failingSince!: Date | null;
}
