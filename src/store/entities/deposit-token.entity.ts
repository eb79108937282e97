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

/** The settings of a token's owner, as a worker last read them. Written by `deposits` alone. */
@Entity('token_state')
export class StoredTokenState {
  @PrimaryColumn({ type: 'text' })
  contract!: string;

  @Column({ type: 'boolean' })
  deprecated!: boolean;

  @Column({ type: 'text', nullable: true })
  successor!: string | null;

  @Column({ type: 'boolean' })
  paused!: boolean;

  @Column({ type: 'numeric', name: 'fee_basis_points' })
  feeBasisPoints!: string;

  @Column({ type: 'numeric', name: 'maximum_fee' })
  maximumFee!: string;

  /** The address after which the next round goes on. */
  @Column({ type: 'text', name: 'checked_to' })
  checkedTo!: string;

  @Column({ ...TIMESTAMPTZ, name: 'due_at' })
  dueAt!: Date;

  /** Null until it was read once. */
  @Column({ ...TIMESTAMPTZ, name: 'read_at', nullable: true })
  readAt!: Date | null;
}

/** A blacklisted address of ours or of a receiver: the token refuses its transfers. Written by `deposits` alone. */
@Entity('blacklisted_address')
export class BlacklistedAddress {
  @PrimaryColumn({ type: 'text' })
  address!: string;

  @Column({ type: 'text' })
  use!: 'deposit' | 'sweep' | 'receiver';

  @Column({ ...TIMESTAMPTZ })
  since!: Date;
}
