/** A project's balance and the limits of its charges. Written by the ledger and by the functions that charge orders. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('credit_account')
export class CreditAccount {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ ...BIGINT, name: 'balance_credits' })
  balanceCredits!: bigint;

  @Column({ type: 'boolean', name: 'is_postpaid' })
  isPostpaid!: boolean;

  @Column({ ...BIGINT, name: 'floor_credits', nullable: true })
  floorCredits!: bigint | null;

  @Column({ type: 'boolean' })
  frozen!: boolean;

  @Column({ ...BIGINT, name: 'daily_cap_credits', nullable: true })
  dailyCapCredits!: bigint | null;

  /**
   * Threshold of the low-balance event, which is written when a change takes the balance below it. Null: no such event.
   */
  @Column({ ...BIGINT, name: 'low_balance_credits', nullable: true })
  lowBalanceCredits!: bigint | null;

  @Column({ type: 'date', name: 'spent_on' })
  spentOn!: string;

  @Column({ ...BIGINT, name: 'spent_credits' })
  spentCredits!: bigint;
}
