/**
 * A move of an order, an event of its project's log, or both. The change itself writes it
 * (sql/functions/order_changed.sql). The worker numbers and renders it (events/numberer.ts). Kept forever.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('event')
export class Event {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ ...BIGINT, name: 'order_id', nullable: true })
  orderId!: bigint | null;

  /** The old and the new status of a move; null if the event is no move. */
  @Column({ type: 'text', name: 'from_status', nullable: true })
  fromStatus!: string | null;

  @Column({ type: 'text', name: 'to_status', nullable: true })
  toStatus!: string | null;

  @Column(TIMESTAMPTZ)
  at!: Date;

  /** The time by the chain's clock; null if the chain has none for it. */
  @Column({ ...TIMESTAMPTZ, name: 'chain_at', nullable: true })
  chainAt!: Date | null;

  /** Null for moves from before the event log existed. */
  @Column({ type: 'uuid', name: 'project_id', nullable: true })
  projectId!: string | null;

  /** Null for a move that is no event. */
  @Column({ type: 'text', nullable: true })
  type!: string | null;

  /** The object's state at that moment, until the payload is rendered from it. */
  @Column({ type: 'json', nullable: true })
  snapshot!: unknown;

  /** The position in its project's log; an event without one is not visible to readers. */
  @Column({ ...BIGINT, nullable: true })
  position!: bigint | null;

  /** The exact text that readers get. Null before the event is numbered, and after the log's retention. */
  @Column({ type: 'text', nullable: true })
  payload!: string | null;
}
