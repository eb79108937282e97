/**
 * A receiver's usable energy before a delegation and after its block, if a node reported it. Each reading has the
 * newest block of its time.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('receiver_energy')
export class ReceiverEnergy {
  @PrimaryColumn({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  @Column({ ...BIGINT, name: 'before_energy', nullable: true })
  beforeEnergy!: bigint | null;

  @Column({ ...BIGINT, name: 'before_block', nullable: true })
  beforeBlock!: bigint | null;

  @Column({ ...BIGINT, name: 'after_energy', nullable: true })
  afterEnergy!: bigint | null;

  @Column({ ...BIGINT, name: 'after_block', nullable: true })
  afterBlock!: bigint | null;
}
