/** A chain account of ours that delegates its stake, or activates accounts. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('pool_wallet')
export class PoolWallet {
  @PrimaryColumn({ type: 'integer', generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: number;

  @Column({ type: 'text' })
  address!: string;

  @Column({ type: 'text' })
  role!: 'pool' | 'activation';

  @Column({ type: 'smallint', name: 'permission_id' })
  permissionId!: number;

  @Column({ type: 'text', name: 'key_address' })
  keyAddress!: string;

  @Column({ type: 'bytea', name: 'key_sealed', nullable: true })
  keySealed!: Buffer | null;

  @Column({ type: 'text' })
  status!: 'active' | 'paused';

  @Column({ type: 'text', name: 'pause_reason', nullable: true })
  pauseReason!: string | null;

  @Column({ type: 'text', name: 'wallet_fault', nullable: true })
  walletFault!: string | null;

  @Column({ type: 'text', name: 'books_fault', nullable: true })
  booksFault!: string | null;

  @Column({ type: 'text', name: 'delivery_fault', nullable: true })
  deliveryFault!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'delivery_held_until', nullable: true })
  deliveryHeldUntil!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'delivery_failed_at', nullable: true })
  deliveryFailedAt!: Date | null;

  @Column({ type: 'integer', name: 'delivery_pauses' })
  deliveryPauses!: number;

  @Column({ type: 'integer', name: 'sign_failures' })
  signFailures!: number;

  @Column({ type: 'integer' })
  deaths!: number;

  @Column({ ...BIGINT, name: 'staked_sun' })
  stakedSun!: bigint;

  @Column({ ...BIGINT, name: 'delegated_sun' })
  delegatedSun!: bigint;

  @Column({ ...BIGINT, name: 'free_sun_seen' })
  freeSunSeen!: bigint;

  @Column({ ...BIGINT, name: 'recovering_sun' })
  recoveringSun!: bigint;

  @Column({ ...BIGINT, name: 'balance_sun' })
  balanceSun!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'synced_at', nullable: true })
  syncedAt!: Date | null;

  @Column({ ...BIGINT, name: 'transactions_seen' })
  transactionsSeen!: bigint;

  @Column({ ...BIGINT, name: 'net_limit' })
  netLimit!: bigint;

  @Column({ ...BIGINT, name: 'net_used' })
  netUsed!: bigint;

  @Column({ ...BIGINT, name: 'staked_bandwidth_sun' })
  stakedBandwidthSun!: bigint;

  @Column({ ...BIGINT, name: 'delegated_bandwidth_sun' })
  delegatedBandwidthSun!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'ends_counted_to', nullable: true })
  endsCountedTo!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'read_at', nullable: true })
  readAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'sells_until', nullable: true })
  sellsUntil!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}
