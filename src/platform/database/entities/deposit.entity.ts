/** Payments to deposit addresses, and the cursor through the solid blocks. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DepositAsset, DepositStatus } from '../../../domain/deposit-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** One transfer, unique by its transaction, kind and place. */
@Entity('deposit')
export class Deposit {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'bytea' })
  txid!: Buffer;

  @Column({ type: 'text' })
  kind!: 'native' | 'log' | 'internal';

  @Column({ type: 'integer' })
  place!: number;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  address!: string;

  @Column({ type: 'text', name: 'from_address' })
  fromAddress!: string;

  @Column({ type: 'text' })
  asset!: DepositAsset;

  /** The token contract that was paid in; null for TRX, and for the first token in rows older than this column. */
  @Column({ type: 'text', nullable: true })
  contract!: string | null;

  /** In the smallest unit; as text, since a log's value has 256 bits. */
  @Column({ type: 'numeric' })
  amount!: string;

  @Column({ ...BIGINT, name: 'block_number' })
  blockNumber!: bigint;

  @Column({ type: 'bytea', name: 'block_id' })
  blockId!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'block_at' })
  blockAt!: Date;

  @Column({ type: 'text' })
  status!: DepositStatus;

  /** The reason if it is pending, held or ignored. */
  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  /** The rate at which one whole unit of the asset is credited, times 10^8. */
  @Column({ ...BIGINT, name: 'rate_e8', nullable: true })
  rateE8!: bigint | null;

  /** The key of its ledger entry: its own, or that of the deposit with which its sum was credited or held. */
  @Column({ type: 'text', name: 'entry_key', nullable: true })
  entryKey!: string | null;

  /** The credits of its own entry; null if it shares another deposit's entry. */
  @Column({ ...BIGINT, nullable: true })
  credits!: bigint | null;

  /** The sum of small deposits that it is part of. */
  @Column({ ...BIGINT, name: 'sum_id', nullable: true })
  sumId!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'seen_at' })
  seenAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'changed_at' })
  changedAt!: Date;
}
