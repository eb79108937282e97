/** The number of replays of an order's key. The API counts in memory and adds its counts every few seconds. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('order_replay')
export class OrderReplay {
  @PrimaryColumn({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  @Column(BIGINT)
  replays!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'last_at' })
  lastAt!: Date;
}
