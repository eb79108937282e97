/** Energy that a rental's receiver used while it ran, as far as its solid blocks were read. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('rental_use')
export class RentalUse {
  @PrimaryColumn({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  @Column(BIGINT)
  energy!: bigint;

  /** Number of contract calls that used it, in all. */
  @Column({ type: 'integer' })
  calls!: number;

  @Column({ ...BIGINT, name: 'last_block' })
  lastBlock!: bigint;
}
