import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** A token contract that deposits are or were paid in. Written by `deposits` alone. */
@Entity('deposit_token')
export class DepositToken {
  @PrimaryColumn({ type: 'text' })
  contract!: string;

  /** The contract that this one replaced; null for the first one. */
  @Column({ type: 'text', nullable: true })
  replaces!: string | null;

  /** The first block whose transfers count. They count up to the successor's first block. */
  @Column({ ...BIGINT, name: 'from_block' })
  fromBlock!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}

/** The state that a token's owner controls, as a worker last read it. Written by `deposits` alone. */
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

  /** The address after which the next round of blacklist checks continues. */
  @Column({ type: 'text', name: 'checked_to' })
  checkedTo!: string;

  @Column({ ...TIMESTAMPTZ, name: 'due_at' })
  dueAt!: Date;

  /** Null before the first reading. */
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
