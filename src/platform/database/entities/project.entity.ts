/** A tenant and its options. Its balance and terms of payment are in its credit account. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { SignatureSchemes } from '../../../domain/scopes.js';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('project')
export class Project {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'bytea', name: 'api_key_sealed' })
  apiKeySealed!: Buffer;

  @Column({ type: 'text', name: 'signature_schemes' })
  signatureSchemes!: SignatureSchemes;

  @Column({ type: 'boolean', name: 'require_idempotency_key' })
  requireIdempotencyKey!: boolean;

  @Column({ type: 'boolean', name: 'require_quote' })
  requireQuote!: boolean;

  @Column({ type: 'text', array: true, name: 'allowed_sources' })
  allowedSources!: string[];

  /** True for a test project: a timer plays its orders, and no figure includes them. Never changes. */
  @Column({ type: 'boolean', name: 'test' })
  isTest!: boolean;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'updated_at' })
  updatedAt!: Date;
}
