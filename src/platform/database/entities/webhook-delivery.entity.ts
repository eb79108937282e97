/** One delivery of an event to an endpoint, with its result. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dropped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The cause of a delivery: a new event, a repeated range of events, one repeated event, or a test event. */
export const DELIVERY_CAUSES = ['event', 'replay', 'resend', 'test'] as const;
export type DeliveryCause = (typeof DELIVERY_CAUSES)[number];

@Entity('webhook_delivery')
export class WebhookDelivery {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'uuid', name: 'endpoint_id' })
  endpointId!: string;

  @Column({ type: 'text' })
  cause!: DeliveryCause;

  /** The event's row; null for a test event, which has its own payload. */
  @Column({ ...BIGINT, name: 'event_id', nullable: true })
  eventId!: bigint | null;

  @Column({ type: 'text', name: 'event_key' })
  eventKey!: string;

  @Column({ type: 'text' })
  type!: string;

  @Column({ ...BIGINT })
  position!: bigint;

  @Column({ type: 'text', nullable: true })
  payload!: string | null;

  @Column({ type: 'text' })
  status!: DeliveryStatus;

  /** True until a sender first sees the row. */
  @Column({ type: 'boolean', name: 'is_fresh' })
  isFresh!: boolean;

  /** True if the project requested it. It is then sent before all others, even while the endpoint is slowed down. */
  @Column({ type: 'boolean', name: 'is_requested' })
  isRequested!: boolean;

  @Column({ type: 'integer' })
  attempts!: number;

  @Column({ ...TIMESTAMPTZ, name: 'next_at', nullable: true })
  nextAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'attempted_at', nullable: true })
  attemptedAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'ended_at', nullable: true })
  endedAt!: Date | null;

  @Column({ type: 'integer', name: 'answer_status', nullable: true })
  answerStatus!: number | null;

  @Column({ type: 'text', nullable: true })
  answer!: string | null;

  @Column({ type: 'text', nullable: true })
  fault!: string | null;

  @Column({ type: 'integer', name: 'duration_ms', nullable: true })
  durationMs!: number | null;
}
