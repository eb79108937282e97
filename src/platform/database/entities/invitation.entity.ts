/** An invitation link. Within a day, it makes one person a member of a project or an operator. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Audience, PersonRole } from '../../../domain/audience.js';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('invitation')
export class Invitation {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  /** SHA-256 of the token in the link. */
  @Column({ type: 'bytea', name: 'token_hash' })
  tokenHash!: Buffer;

  @Column({ type: 'text' })
  audience!: Audience;

  @Column({ type: 'text' })
  email!: string;

  @Column({ type: 'uuid', name: 'project_id', nullable: true })
  projectId!: string | null;

  @Column({ type: 'text' })
  role!: PersonRole;

  @Column({ type: 'text', name: 'invited_by' })
  invitedBy!: string;

  /** True if the link was sent to the address, or an operator vouches for the address. */
  @Column({ type: 'boolean', name: 'proves_address' })
  provesAddress!: boolean;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'expires_at' })
  expiresAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'accepted_at', nullable: true })
  acceptedAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;
}
