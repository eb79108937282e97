/** Statements of the ledger by month, and how far the closing of each month has come. Written by `statements` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** Closed for ever when it is made. */
@Entity('statement')
export class LedgerStatement {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  /** From 1 on, without gaps. */
  @PrimaryColumn({ type: 'integer' })
  number!: number;

  /** Its first day, as `2026-11-01`. */
  @Column({ type: 'date' })
  month!: string;

  @Column({ ...TIMESTAMPTZ, name: 'ends_at' })
  endsAt!: Date;

  /** No entry beyond it is in this statement. */
  @Column({ ...BIGINT, name: 'entries_to' })
  entriesTo!: bigint;

  /** The first id from which on there may be entries in no statement yet. */
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

/** A month that is over, and cut off from the next one. */
@Entity('statement_month')
export class StatementMonth {
  @PrimaryColumn({ type: 'date' })
  month!: string;

  @Column({ ...TIMESTAMPTZ, name: 'ends_at' })
  endsAt!: Date;

  /** No entry up to this id can still appear. */
  @Column({ ...BIGINT, name: 'entries_to' })
  entriesTo!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'cut_at' })
  cutAt!: Date;

  /** Projects up to this id are closed, or skipped. */
  @Column({ type: 'uuid', name: 'projects_after', nullable: true })
  projectsAfter!: string | null;

  /** A project could not be closed: all are gone through again. */
  @Column({ type: 'boolean' })
  skipped!: boolean;

  @Column({ ...TIMESTAMPTZ, name: 'closed_at', nullable: true })
  closedAt!: Date | null;
}
