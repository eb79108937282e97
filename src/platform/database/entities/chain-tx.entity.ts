/** One chain transaction of the service: its bytes, its signature and its progress. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ChainTxPurpose, ChainTxStatus } from '../../../domain/order-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('chain_tx')
export class ChainTx {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  @Column({ ...BIGINT, name: 'leg_id' })
  legId!: bigint;

  @Column({ type: 'text' })
  purpose!: ChainTxPurpose;

  @Column({ type: 'integer' })
  attempt!: number;

  @Column({ type: 'integer', name: 'wallet_id' })
  walletId!: number;

  @Column({ type: 'text' })
  status!: ChainTxStatus;

  @Column({ type: 'bytea' })
  txid!: Buffer;

  @Column({ type: 'bytea', name: 'raw_data' })
  rawData!: Buffer;

  @Column({ type: 'bytea', nullable: true })
  signature!: Buffer | null;

  @Column({ ...BIGINT, name: 'ref_block_number' })
  refBlockNumber!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'expires_at' })
  expiresAt!: Date;

  @Column({ ...BIGINT, name: 'block_number', nullable: true })
  blockNumber!: bigint | null;

  @Column({ type: 'bytea', name: 'block_id', nullable: true })
  blockId!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'block_at', nullable: true })
  blockAt!: Date | null;

  /** The TRX that it burnt, in sun, from the receipt of its solid block. Null until that receipt is read. */
  @Column({ ...BIGINT, name: 'fee_sun', nullable: true })
  feeSun!: bigint | null;

  @Column({ type: 'integer' })
  sends!: number;

  @Column({ ...TIMESTAMPTZ, name: 'sent_at', nullable: true })
  sentAt!: Date | null;

  @Column({ type: 'jsonb', nullable: true })
  evidence!: Readonly<Record<string, unknown>> | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  /** True for an archived row. Partition key of the table. */
  @Column({ type: 'boolean', name: 'archived' })
  isArchived!: boolean;

  /** Computed by the database for its indexes. */
  @Column({ type: 'text', insert: false, update: false })
  stage!: 'open' | 'uncosted' | 'final' | 'dead';
}
