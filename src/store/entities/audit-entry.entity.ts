/** What somebody did to the service, with who and why; never changed. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('audit_log')
export class AuditEntry {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column(TIMESTAMPTZ)
  at!: Date;

  @Column({ type: 'text' })
  actor!: string;

  @Column({ type: 'text' })
  action!: string;

  @Column({ type: 'text' })
  subject!: string;

  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  @Column({ type: 'jsonb', nullable: true })
  detail!: Readonly<Record<string, unknown>> | null;
}
