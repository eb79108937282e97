/** The next due time of an endpoint, the sender that holds it, and the results of its recent deliveries. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

/** An endpoint with this many consecutive failures is slowed down: it gets only probes. */
export const FAILURES_MAX = 3;

@Entity('webhook_state')
export class WebhookState {
  @PrimaryColumn({ type: 'uuid', name: 'endpoint_id' })
  endpointId!: string;

  /** While a sender holds the endpoint: the end of the lease, or earlier if there is something new. */
  @Column({ ...TIMESTAMPTZ, name: 'due_at', nullable: true })
  dueAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'lease_until', nullable: true })
  leaseUntil!: Date | null;

  @Column({ type: 'uuid', nullable: true })
  holder!: string | null;

  @Column({ type: 'integer' })
  fence!: number;

  /**
   * Consecutive deliveries without an answer, or with one that asks for fewer requests. Any other answer resets it to
   * 0.
   */
  @Column({ type: 'integer' })
  failures!: number;

  /** The time since which the receiver has accepted no event, even if it answered; null while it accepts them. */
  @Column({ ...TIMESTAMPTZ, name: 'failing_since', nullable: true })
  failingSince!: Date | null;

  /** The time of the last success. */
  @Column({ ...TIMESTAMPTZ, name: 'taken_at', nullable: true })
  takenAt!: Date | null;

  /** For each event type, the first refusal since an event of that type was last accepted. */
  @Column({ type: 'jsonb', name: 'refused_since' })
  refusedSince!: Readonly<Record<string, string>>;
}
