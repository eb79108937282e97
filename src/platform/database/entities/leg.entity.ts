/** One delegation of an order from one wallet, or the one action of an activation. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { LegKind, LegStatus, TopUpCause } from '../../../domain/order-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('leg')
export class Leg {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  @Column({ type: 'smallint', name: 'leg_no' })
  legNo!: number;

  @Column({ type: 'text' })
  kind!: LegKind;

  @Column({ type: 'integer', name: 'wallet_id' })
  walletId!: number;

  @Column({ type: 'text', name: 'receive_address' })
  receiveAddress!: string;

  @Column({ ...BIGINT, name: 'amount_sun' })
  amountSun!: bigint;

  @Column({ ...BIGINT, nullable: true })
  energy!: bigint | null;

  /** Units of a delegation of bandwidth. */
  @Column({ ...BIGINT, nullable: true })
  bandwidth!: bigint | null;

  @Column({ type: 'text' })
  status!: LegStatus;

  /** True for a leg that was added to a running rental free of charge. */
  @Column({ type: 'boolean', name: 'top_up' })
  topUp!: boolean;

  @Column({ type: 'text', name: 'top_up_cause', nullable: true })
  topUpCause!: TopUpCause | null;

  @Column({ ...TIMESTAMPTZ, name: 'active_at', nullable: true })
  activeAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'closed_at', nullable: true })
  closedAt!: Date | null;

  @Column({ type: 'bytea', name: 'closed_by_txid', nullable: true })
  closedByTxid!: Buffer | null;

  @Column({ type: 'text', name: 'closed_reason', nullable: true })
  closedReason!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'changed_at' })
  changedAt!: Date;

  /** True for an archived row. Partition key of the table. */
  @Column({ type: 'boolean', name: 'archived' })
  isArchived!: boolean;
}
