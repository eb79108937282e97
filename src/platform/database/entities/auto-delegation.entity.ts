/** An address that is kept supplied with energy: the project's terms and the present state. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('auto_delegation')
export class AutoDelegation {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  address!: string;

  /** The API key that set the terms. Purchases count against this key's cap. */
  @Column({ type: 'uuid', name: 'api_key_id' })
  apiKeyId!: string;

  @Column({ ...BIGINT, name: 'keep_energy' })
  keepEnergy!: bigint;

  @Column({ ...BIGINT, name: 'refill_below' })
  refillBelow!: bigint;

  @Column({ type: 'integer', name: 'duration_sec' })
  durationSec!: number;

  @Column({ ...BIGINT, name: 'max_sun_per_energy', nullable: true })
  maxSunPerEnergy!: bigint | null;

  @Column({ ...BIGINT, name: 'daily_cap_credits' })
  dailyCapCredits!: bigint;

  @Column({ type: 'integer', name: 'idle_after_sec' })
  idleAfterSec!: number;

  /** The end of the auto-delegation by the chain's clock. Nothing is bought after it. */
  @Column({ ...TIMESTAMPTZ, nullable: true })
  until!: Date | null;

  /** True after `idleAfterSec` without a use. Nothing is bought until the address is used again. */
  @Column({ type: 'boolean' })
  asleep!: boolean;

  /** The error code of the interface for the reason that refills are paused. */
  @Column({ type: 'text', name: 'pause_reason', nullable: true })
  pauseReason!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'paused_at', nullable: true })
  pausedAt!: Date | null;

  /** Consecutive checks that could not buy. */
  @Column({ type: 'smallint' })
  failures!: number;

  /** The number of the last purchase. Its idempotency key is `auto_<id>_<number>`. */
  @Column(BIGINT)
  purchases!: bigint;

  /** The order of the last purchase, until it is delivered or refunded. */
  @Column({ ...BIGINT, name: 'open_order_id', nullable: true })
  openOrderId!: bigint | null;

  /** The credits charged on the UTC day `spentOn`. */
  @Column({ ...BIGINT, name: 'spent_credits' })
  spentCredits!: bigint;

  @Column({ type: 'date', name: 'spent_on' })
  spentOn!: string;

  /** The block of the last observed use, and the time from which the address counts as unused. By the chain's clock. */
  @Column({ ...BIGINT, name: 'used_block', nullable: true })
  usedBlock!: bigint | null;

  @Column({ type: 'bytea', name: 'used_block_id', nullable: true })
  usedBlockId!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'used_at', nullable: true })
  usedAt!: Date | null;

  /** The energy that the address could spend at the last check. */
  @Column({ ...BIGINT, name: 'usable_energy', nullable: true })
  usableEnergy!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'checked_at', nullable: true })
  checkedAt!: Date | null;

  /** The time of the next check. During a check: the time from which another worker may check it. */
  @Column({ ...TIMESTAMPTZ, name: 'due_at', nullable: true })
  dueAt!: Date | null;

  /** The fence of the running check; a different value means that none is running. */
  @Column({ ...BIGINT, name: 'lease_fence', nullable: true })
  leaseFence!: bigint | null;

  /** True if something changed since the running check began. The row is then due again when that check ends. */
  @Column({ type: 'boolean', name: 'due_again' })
  dueAgain!: boolean;

  /** The next time at which the plan may change without a use of the address, by the chain's clock. */
  @Column({ ...TIMESTAMPTZ, name: 'change_at', nullable: true })
  changeAt!: Date | null;

  /** The time of its turn in the slow round over all auto-delegations. */
  @Column({ ...TIMESTAMPTZ, name: 'check_at', nullable: true })
  checkAt!: Date | null;

  /** Raised by each check, and by each change that makes a running check too old to act on. */
  @Column(BIGINT)
  fence!: bigint;

  /** True if the service chooses the duration of each purchase; `durationSec` is then the one it starts with. */
  @Column({ type: 'boolean', name: 'auto_duration' })
  autoDuration!: boolean;

  /** The UTC day, by the chain's clock, of the newest counted use. */
  @Column({ type: 'date', name: 'uses_on', nullable: true })
  usesOn!: string | null;

  /** The blocks with a use in the day `usesOn` and in the days before it, newest first. */
  @Column({ type: 'integer', name: 'daily_uses', array: true, nullable: true })
  dailyUses!: number[] | null;

  /** The transfer that sizes refills; `keepEnergy` and `refillBelow` are then the least. */
  @Column({ type: 'json', nullable: true })
  transfer!: object | null;

  /** The energy that the transfer last needed. */
  @Column({ ...BIGINT, name: 'transfer_energy', nullable: true })
  transferEnergy!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'changed_at' })
  changedAt!: Date;
}
