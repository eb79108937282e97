/** How often the key of an order came again. Counted by the API in its memory and added every few seconds. */
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
