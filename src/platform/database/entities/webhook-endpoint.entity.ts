/** An endpoint for a project's events, with its signing secrets. After deletion the row remains without the secrets. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

/**
 * The reason why nothing is sent to an endpoint: its owner disabled it, it answered 410, or five days passed without
 * success.
 */
export type DisabledReason = 'owner' | 'gone' | 'failing';

@Entity('webhook_endpoint')
export class WebhookEndpoint {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  url!: string;

  /** Null: every type. */
  @Column({ type: 'text', array: true, nullable: true })
  types!: string[] | null;

  @Column({ type: 'text' })
  description!: string;

  @Column({ type: 'bytea', name: 'secret_sealed', nullable: true })
  secretSealed!: Buffer | null;

  /** The secret before the last rotation. It still signs until `previousUntil`. */
  @Column({ type: 'bytea', name: 'previous_secret_sealed', nullable: true })
  previousSecretSealed!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'previous_until', nullable: true })
  previousUntil!: Date | null;

  @Column({ type: 'uuid', name: 'made_by_key', nullable: true })
  madeByKey!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'changed_at' })
  changedAt!: Date;

  /** `webhook.changed` was written for changes up to this time. Several changes within seconds are one event. */
  @Column({ ...TIMESTAMPTZ, name: 'change_reported_at', nullable: true })
  changeReportedAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'failing_told_at', nullable: true })
  failingToldAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'disabled_at', nullable: true })
  disabledAt!: Date | null;

  @Column({ type: 'text', name: 'disabled_reason', nullable: true })
  disabledReason!: DisabledReason | null;

  @Column({ ...TIMESTAMPTZ, name: 'deleted_at', nullable: true })
  deletedAt!: Date | null;
}
