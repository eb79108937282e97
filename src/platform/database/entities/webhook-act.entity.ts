/** A project's request to change or use its webhooks, counted for 24 hours against a limit. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

export type WebhookActKind = 'change' | 'rotate' | 'resend' | 'replay';

@Entity('webhook_act')
export class WebhookAct {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  act!: WebhookActKind;

  /** The number of events of a replay; otherwise 1. */
  @Column({ type: 'integer' })
  count!: number;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}
