/** An address that is kept supplied with energy: the terms that its project set, and its present state. */
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

  /** The API key that set it, whose cap its purchases count against. */
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

  /** By the chain's clock; from then on nothing is bought. */
  @Column({ ...TIMESTAMPTZ, nullable: true })
  until!: Date | null;

  /** Unused for so long that it is only watched for its next use. */
  @Column({ type: 'boolean' })
  asleep!: boolean;

  /** The error code of the interface that explains why a refill is not possible at present. */
  @Column({ type: 'text', name: 'pause_reason', nullable: true })
  pauseReason!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'paused_at', nullable: true })
  pausedAt!: Date | null;

  /** Checks in a row that could not buy. */
  @Column({ type: 'smallint' })
  failures!: number;

  /** The number of the last purchase: its key is auto_<id>_<number>. */
  @Column(BIGINT)
  purchases!: bigint;

  /** The order of the last purchase, until it is delivered or refunded. */
  @Column({ ...BIGINT, name: 'open_order_id', nullable: true })
  openOrderId!: bigint | null;

  /** Charged on `spentOn`, a day by UTC. */
  @Column({ ...BIGINT, name: 'spent_credits' })
  spentCredits!: bigint;

  @Column({ type: 'date', name: 'spent_on' })
  spentOn!: string;

  /** The block of its last use that was seen, and the time since which it counts as unused, by the chain's clock. */
  @Column({ ...BIGINT, name: 'used_block', nullable: true })
  usedBlock!: bigint | null;

  @Column({ type: 'bytea', name: 'used_block_id', nullable: true })
  usedBlockId!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'used_at', nullable: true })
  usedAt!: Date | null;

  /** The credits that it could spend at the last check. */
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

  /** Something changed since that check began: it is due again when the check ends. */
  @Column({ type: 'boolean', name: 'due_again' })
  dueAgain!: boolean;

  /** The time of the next change of its rentals, by the chain's clock. */
  @Column({ ...TIMESTAMPTZ, name: 'change_at', nullable: true })
  changeAt!: Date | null;

  /** The time of its turn in the slow round over all auto-delegations. */
  @Column({ ...TIMESTAMPTZ, name: 'check_at', nullable: true })
  checkAt!: Date | null;

  /** Raised by each check, and by each change that makes a running check too old to act on. */
  @Column(BIGINT)
  fence!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'changed_at' })
  changedAt!: Date;
}
