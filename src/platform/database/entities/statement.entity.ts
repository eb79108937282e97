/** Monthly statements of the ledger, and the progress of closing each month. Written by `statements` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** A project's statement of one month. It never changes. */
@Entity('statement')
export class LedgerStatement {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  /** From 1, without gaps. */
  @PrimaryColumn({ type: 'integer' })
  number!: number;

  /** The first day of the month, as `2026-11-01`. */
  @Column({ type: 'date' })
  month!: string;

  @Column({ ...TIMESTAMPTZ, name: 'ends_at' })
  endsAt!: Date;

  /** The highest entry id that the statement may contain. */
  @Column({ ...BIGINT, name: 'entries_to' })
  entriesTo!: bigint;

  /** All entries of the project with a lower id are in a statement. */
  @Column({ ...BIGINT, name: 'rest_from' })
  restFrom!: bigint;

  /** The time of its earliest line. */
  @Column({ ...TIMESTAMPTZ, name: 'first_at' })
  firstAt!: Date;

  @Column(BIGINT)
  lines!: bigint;

  @Column({ ...BIGINT, name: 'opening_credits' })
  openingCredits!: bigint;

  @Column({ ...BIGINT, name: 'charge_credits' })
  chargeCredits!: bigint;

  @Column({ ...BIGINT, name: 'refund_credits' })
  refundCredits!: bigint;

  @Column({ ...BIGINT, name: 'compensation_credits' })
  compensationCredits!: bigint;

  @Column({ ...BIGINT, name: 'deposit_credits' })
  depositCredits!: bigint;

  @Column({ ...BIGINT, name: 'topup_credits' })
  topupCredits!: bigint;

  @Column({ ...BIGINT, name: 'adjustment_credits' })
  adjustmentCredits!: bigint;

  @Column({ ...BIGINT, name: 'closing_credits' })
  closingCredits!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'closed_at' })
  closedAt!: Date;
}
