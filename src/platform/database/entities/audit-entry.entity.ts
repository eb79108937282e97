/** One act of an operator on the service, with author and reason; never changed. */
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

  /** The login and the role of the statement, written by the database. Null in older entries. */
  @Column({ name: 'login_role', type: 'text', nullable: true })
  loginRole!: string | null;

  @Column({ name: 'acting_role', type: 'text', nullable: true })
  actingRole!: string | null;

  /** The user that the acting process runs as; null in older entries. */
  @Column({ name: 'os_user', type: 'text', nullable: true })
  osUser!: string | null;
}
