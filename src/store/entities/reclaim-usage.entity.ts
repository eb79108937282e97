/** A receiver's energy when a reclaim was built beside its other rentals. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('reclaim_usage')
export class ReclaimUsage {
  @PrimaryColumn({ ...BIGINT, name: 'tx_id' })
  txId!: bigint;

  @Column({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  @Column({ type: 'text', name: 'receive_address' })
  receiveAddress!: string;

  @Column({ ...BIGINT, name: 'used_energy' })
  usedEnergy!: bigint;

  @Column({ ...BIGINT, name: 'limit_energy' })
  limitEnergy!: bigint;

  /** The part of the limit that our delegations give. */
  @Column({ ...BIGINT, name: 'pool_energy' })
  poolEnergy!: bigint;

  /** Of the energy that the order sold, the delegation's part. */
  @Column({ ...BIGINT, name: 'sold_energy' })
  soldEnergy!: bigint;

  @Column({ ...BIGINT, name: 'taken_energy' })
  takenEnergy!: bigint;

  @Column({ ...BIGINT, name: 'read_block' })
  readBlock!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'read_at' })
  readAt!: Date;

  /** The time when its leftover usage was compensated, or found to need no compensation. */
  @Column({ ...TIMESTAMPTZ, name: 'weighed_at', nullable: true })
  weighedAt!: Date | null;

  /** The usage that it and those before it had left on the receiver by then. */
  @Column({ ...BIGINT, name: 'left_energy', nullable: true })
  leftEnergy!: bigint | null;
}
