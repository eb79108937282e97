import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** A token contract that deposits are or were paid in. Written by `deposits` alone. */
@Entity('deposit_token')
export class DepositToken {
  @PrimaryColumn({ type: 'text' })
  contract!: string;

  /** The token before it; null for the first one. */
  @Column({ type: 'text', nullable: true })
  replaces!: string | null;

  /** The first block in which its transfers count; they count until those of its successor do. */
  @Column({ ...BIGINT, name: 'from_block' })
  fromBlock!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}
