/** Sums of small deposits, and payments that wait for a lock to be released. Written by `deposits` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DepositAsset } from '../../../domain/deposit-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** A sum of small deposits. It is open while it has no entry key. A project has one open sum per asset and reason. */
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

  /** The sum of the deposits' amounts, without the deposit that brought the decision. */
  @Column({ type: 'numeric', default: 0 })
  amount!: string;

  /** The sum of amount × rate of the same deposits. */
  @Column({ type: 'numeric', default: 0 })
  worth!: string;

  /** The entry key of the deposit that brought the decision. */
  @Column({ type: 'text', name: 'entry_key', nullable: true })
  entryKey!: string | null;

  @Column({ type: 'text', nullable: true })
  decision!: 'credited' | 'held' | 'ignored' | null;

  /** The reason that its deposits get while the sum is held, or once it is ignored. */
  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  /** True once all of its deposits have got the decision. */
  @Column({ type: 'boolean', name: 'is_settled', default: false })
  isSettled!: boolean;
}

/** A payment in a solid block. It was not recorded with its block, because the project or a row was locked. */
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
