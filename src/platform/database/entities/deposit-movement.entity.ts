/**
 * Movements at deposit addresses other than deposits, destinations of sweeps, and returned deposits. Written by
 * `deposits` alone.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DepositAsset } from '../../../domain/deposit-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

/** An outflow or burn at a deposit address, or a transfer to it from our own addresses. Never changed. */
@Entity('deposit_movement')
export class DepositMovement {
  @PrimaryColumn({ type: 'bytea' })
  txid!: Buffer;

  @PrimaryColumn({ type: 'text' })
  kind!: 'native' | 'log' | 'internal' | 'fee' | 'destroyed';

  @PrimaryColumn({ type: 'integer' })
  place!: number;

  @PrimaryColumn({ type: 'text' })
  address!: string;

  @Column({ type: 'text' })
  asset!: DepositAsset;

  /** The contract of a token; null for TRX, and for the first token in rows older than this column. */
  @Column({ type: 'text', nullable: true })
  contract!: string | null;

  /** Negative for an outflow; as text, because a log's value has 256 bits. */
  @Column({ type: 'numeric' })
  amount!: string;

  /** Null for burns, and for tokens that the token's owner destroyed. */
  @Column({ type: 'text', nullable: true })
  counterparty!: string | null;

  @Column({ ...BIGINT, name: 'block_number' })
  blockNumber!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'block_at' })
  blockAt!: Date;
}

/** A destination of sweeps. Transfers from it to deposit addresses are no deposits. */
@Entity('deposit_sweep_address')
export class DepositSweepAddress {
  @PrimaryColumn({ type: 'text' })
  address!: string;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}

/** A returned deposit: booked first, then paid by a transaction that is signed offline. */
@Entity('deposit_return')
export class DepositReturn {
  @PrimaryColumn({ ...BIGINT, name: 'deposit_id' })
  depositId!: bigint;

  @Column({ type: 'text', name: 'to_address' })
  toAddress!: string;

  @Column({ type: 'text', name: 'entry_key', nullable: true })
  entryKey!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  /** The id of the newest unsigned transaction. */
  @Column({ type: 'bytea' })
  txid!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'expires_at' })
  expiresAt!: Date;
}
