/** A part of a wallet's capacity in its own row, so that orders do not queue for one row. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('pool_slot')
export class PoolSlot {
  @PrimaryColumn({ type: 'integer', name: 'wallet_id' })
  walletId!: number;

  @PrimaryColumn({ type: 'smallint', name: 'slot_no' })
  slotNo!: number;

  @Column({ ...BIGINT, name: 'free_sun' })
  freeSun!: bigint;

  /** The unreserved bandwidth, in transactions of the size of a delegation. */
  @Column({ ...BIGINT, name: 'free_transactions' })
  freeTransactions!: bigint;

  /** Unreserved stake for bandwidth that is sold. */
  @Column({ ...BIGINT, name: 'free_bandwidth_sun' })
  freeBandwidthSun!: bigint;
}
