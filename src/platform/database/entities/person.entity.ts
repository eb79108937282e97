/** People of a console, their memberships, and the codes that replace a lost second factor. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Audience, PersonRole } from '../../../domain/audience.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('person')
export class Person {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text' })
  audience!: Audience;

  /** In lower case; unique within an audience. */
  @Column({ type: 'text' })
  email!: string;

  @Column({ type: 'text', name: 'password_hash' })
  passwordHash!: string;

  @Column({ ...TIMESTAMPTZ, name: 'password_changed_at' })
  passwordChangedAt!: Date;

  /** The secret of the second factor; null without one. */
  @Column({ type: 'bytea', name: 'totp_sealed', nullable: true })
  totpSealed!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'totp_since', nullable: true })
  totpSince!: Date | null;

  /** The last step with an accepted code; codes of this step or an earlier one are refused. */
  @Column({ ...BIGINT, name: 'totp_step' })
  totpStep!: bigint;

  /** Null until the person has shown that they read the mailbox. */
  @Column({ ...TIMESTAMPTZ, name: 'address_proven_at', nullable: true })
  addressProvenAt!: Date | null;

  /** Rises when the password or second factor changes; devices known before then count as unknown. */
  @Column({ type: 'integer' })
  credentials!: number;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}

@Entity('membership')
export class Membership {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'uuid', name: 'person_id' })
  personId!: string;

  @Column({ type: 'text' })
  audience!: Audience;

  /** Null for a membership among the operators. */
  @Column({ type: 'uuid', name: 'project_id', nullable: true })
  projectId!: string | null;

  @Column({ type: 'text' })
  role!: PersonRole;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}

@Entity('recovery_code')
export class RecoveryCode {
  @PrimaryColumn({ type: 'bytea', name: 'code_hash' })
  codeHash!: Buffer;

  @Column({ type: 'uuid', name: 'person_id' })
  personId!: string;

  @Column({ type: 'text' })
  audience!: Audience;
}
