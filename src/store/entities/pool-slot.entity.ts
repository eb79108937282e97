/** A part of a wallet's free stake, so that orders need not queue for one row. */
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

  /** Transactions of the size of a delegation that are not spoken for. */
  @Column({ ...BIGINT, name: 'free_transactions' })
  freeTransactions!: bigint;
}
