/** The next due time of an endpoint, the sender that holds it, and its recent answers. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

/** After so many failures in a row an endpoint is slowed down: it is only probed. */
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

  /** Deliveries in a row that got no answer, or one that asks for less; 0 again as soon as the receiver answers. */
  @Column({ type: 'integer' })
  failures!: number;

  /** The time since which it takes no events, even if it answers; null while it takes them. */
  @Column({ ...TIMESTAMPTZ, name: 'failing_since', nullable: true })
  failingSince!: Date | null;

  /** The last success. */
  @Column({ ...TIMESTAMPTZ, name: 'taken_at', nullable: true })
  takenAt!: Date | null;

  /** By type of event, the first refusal since one of it was taken. */
  @Column({ type: 'jsonb', name: 'refused_since' })
  refusedSince!: Readonly<Record<string, string>>;
}
