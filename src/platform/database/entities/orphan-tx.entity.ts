/** A transaction of a pool wallet in a solid block, without a record in the database. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Resource } from '../../../domain/resource.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('orphan_tx')
export class OrphanTx {
  @PrimaryColumn({ type: 'bytea' })
  txid!: Buffer;

  @Column({ type: 'integer', name: 'wallet_id' })
  walletId!: number;

  @Column({ type: 'smallint' })
  type!: number;

  @Column({ type: 'boolean', name: 'by_own_key' })
  byOwnKey!: boolean;

  @Column({ type: 'text', name: 'receive_address', nullable: true })
  receiveAddress!: string | null;

  @Column({ ...BIGINT, name: 'amount_sun', nullable: true })
  amountSun!: bigint | null;

  @Column({ type: 'bytea', name: 'raw_data' })
  rawData!: Buffer;

  @Column({ type: 'bytea', nullable: true })
  signature!: Buffer | null;

  @Column({ ...BIGINT, name: 'block_number' })
  blockNumber!: bigint;

  @Column({ type: 'bytea', name: 'block_id' })
  blockId!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'block_at' })
  blockAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'seen_at' })
  seenAt!: Date;

  @Column({ ...BIGINT, name: 'order_id', nullable: true })
  orderId!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'gone_at', nullable: true })
  goneAt!: Date | null;

  @Column({ ...BIGINT, array: true, name: 'leg_ids', nullable: true })
  legIds!: bigint[] | null;

  /** The delegated resource; null for an account creation. */
  @Column({ type: 'text', nullable: true })
  resource!: Resource | null;
}
