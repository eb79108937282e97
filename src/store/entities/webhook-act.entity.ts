/** Something that a project asked of its webhooks in the last 24 hours, for which there is a bound. */
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

  /** Of a replay its events, else 1. */
  @Column({ type: 'integer' })
  count!: number;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}
