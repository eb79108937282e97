/** A key that signs a project's requests, with its scopes and limits. The primary key's id is the project's id. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../../domain/scopes.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('api_key')
export class ApiKey {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'text', array: true })
  scopes!: Scope[];

  @Column({ type: 'text', array: true, name: 'allowed_sources' })
  allowedSources!: string[];

  @Column({ type: 'bytea' })
  sealed!: Buffer;

  /** The secret before the last rotation. It still verifies until `previousUntil`. */
  @Column({ type: 'bytea', name: 'previous_sealed', nullable: true })
  previousSealed!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'previous_until', nullable: true })
  previousUntil!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'last_used_at', nullable: true })
  lastUsedAt!: Date | null;

  /** The recent source addresses, with the last use of each; about twenty. */
  @Column({ type: 'jsonb', name: 'recent_sources' })
  recentSources!: Readonly<Record<string, string>>;

  @Column({ ...BIGINT, name: 'daily_cap_credits', nullable: true })
  dailyCapCredits!: bigint | null;

  @Column({ type: 'date', name: 'spent_on' })
  spentOn!: string;

  @Column({ ...BIGINT, name: 'spent_credits' })
  spentCredits!: bigint;
}
