/** A member's e-mail notifications, with a cursor through the project's log under lease and fence. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Audience } from '../../../domain/audience.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('notification')
export class Notification {
  @PrimaryColumn({ ...BIGINT, name: 'membership_id' })
  membershipId!: bigint;

  @Column({ type: 'text' })
  audience!: Audience;

  @Column({ type: 'text', array: true })
  kinds!: string[];

  @Column({ ...TIMESTAMPTZ, name: 'changed_at' })
  changedAt!: Date;

  /** The last event that was mailed or skipped. */
  @Column(BIGINT)
  position!: bigint;

  /** For an operator: the lines of the inbox that were already mailed. */
  @Column({ type: 'text', array: true })
  noted!: string[];

  @Column({ ...TIMESTAMPTZ, name: 'due_at' })
  dueAt!: Date;

  @Column(BIGINT)
  fence!: bigint;

  @Column({ ...TIMESTAMPTZ, name: 'lease_until', nullable: true })
  leaseUntil!: Date | null;

  /** The times of the mails of the last hour. */
  @Column({ ...TIMESTAMPTZ, name: 'mailed_at', array: true })
  mailedAt!: Date[];

  @Column({ ...TIMESTAMPTZ, name: 'sent_at', nullable: true })
  sentAt!: Date | null;

  @Column({ type: 'integer' })
  failures!: number;

  @Column({ ...TIMESTAMPTZ, name: 'failing_since', nullable: true })
  failingSince!: Date | null;

  @Column({ type: 'text', nullable: true })
  fault!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'given_up_at', nullable: true })
  givenUpAt!: Date | null;

  @Column({ ...BIGINT, name: 'given_up' })
  givenUp!: bigint;
}
