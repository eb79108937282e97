/** The energy figures of a receiver when a reclaim was built while other rentals of the receiver were running. */
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

  /** The part of the limit that comes from our delegations. */
  @Column({ ...BIGINT, name: 'pool_energy' })
  poolEnergy!: bigint;

  /** The delegation's share of the energy that the order sold. */
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

  /** The leftover usage of this and earlier reclaims on the receiver at `weighedAt`. */
  @Column({ ...BIGINT, name: 'left_energy', nullable: true })
  leftEnergy!: bigint | null;
}
