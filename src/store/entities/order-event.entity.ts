/** One change of an order's status, written by its trigger. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('order_event')
export class OrderEvent {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  @Column({ type: 'text', name: 'from_status' })
  fromStatus!: string;

  @Column({ type: 'text', name: 'to_status' })
  toStatus!: string;

  @Column(TIMESTAMPTZ)
  at!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'chain_at', nullable: true })
  chainAt!: Date | null;
}
