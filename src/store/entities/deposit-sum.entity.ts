/** Sums of small deposits, and payments that wait for a lock to end. Of `deposits` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DepositAsset } from '../../domain/deposit-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** A sum of small deposits: open while it has no entry key; one open sum for each project, asset and reason. */
@Entity('deposit_sum')
export class DepositSum {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  asset!: DepositAsset;

  @Column({ type: 'text', name: 'wait_reason' })
  waitReason!: 'below_minimum' | 'one_node';

  /** The total of its deposits, without the one that it is decided on with. */
  @Column({ type: 'numeric', default: 0 })
  amount!: string;

  /** Amounts times their rates. */
  @Column({ type: 'numeric', default: 0 })
  worth!: string;

  /** The key of the deposit that it is decided on with. */
  @Column({ type: 'text', name: 'entry_key', nullable: true })
  entryKey!: string | null;

  @Column({ type: 'text', nullable: true })
  decision!: 'credited' | 'held' | 'ignored' | null;

  /** Of its deposits while it is held or once it is ignored. */
  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  /** True once all of its deposits have got the decision. */
  @Column({ type: 'boolean', name: 'is_settled', default: false })
  isSettled!: boolean;
}

/** A payment in a solid block whose project or row was locked when its block was taken in. */
@Entity('parked_payment')
export class ParkedPaymentRow {
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

  @Column({ type: 'text', nullable: true })
  contract!: string | null;

  @Column({ type: 'numeric' })
  amount!: string;

  @Column({ type: 'boolean', name: 'is_agreed' })
  isAgreed!: boolean;

  @Column({ type: 'boolean', name: 'is_paid_by_us' })
  isPaidByUs!: boolean;

  @Column({ ...BIGINT, name: 'block_number' })
  blockNumber!: bigint;

  @Column({ type: 'bytea', name: 'block_id' })
  blockId!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'block_at' })
  blockAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'parked_at' })
  parkedAt!: Date;
}
