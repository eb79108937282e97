/**
 * One thing that happened: a move of an order, an event of its project's log, or both. Written by the change itself
 * (sql/functions/order_changed.sql), numbered and rendered by the worker (events/numberer.ts), kept for ever.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('event')
export class Event {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ ...BIGINT, name: 'order_id', nullable: true })
  orderId!: bigint | null;

  /** Of a move: from which status to which. */
  @Column({ type: 'text', name: 'from_status', nullable: true })
  fromStatus!: string | null;

  @Column({ type: 'text', name: 'to_status', nullable: true })
  toStatus!: string | null;

  @Column(TIMESTAMPTZ)
  at!: Date;

  /** By the chain's clock, where the chain has one for it. */
  @Column({ ...TIMESTAMPTZ, name: 'chain_at', nullable: true })
  chainAt!: Date | null;

  /** Null of moves that are older than the log. */
  @Column({ type: 'uuid', name: 'project_id', nullable: true })
  projectId!: string | null;

  /** Null of a move that is no event. */
  @Column({ type: 'text', nullable: true })
  type!: string | null;

  /** What the object was at that moment, until the payload is rendered from it. */
  @Column({ type: 'json', nullable: true })
  snapshot!: unknown;

  /** In its project's log; nobody reads an event without one. */
  @Column({ ...BIGINT, nullable: true })
  position!: bigint | null;

  /** The event as it is read, byte by byte, until it is older than the log is kept. */
  @Column({ type: 'text', nullable: true })
  payload!: string | null;
}
