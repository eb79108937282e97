/** A request of a project that was refused with 400 or 401. Written by `auth`, pruned by `requests`. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('refused_request')
export class RefusedRequest {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column(TIMESTAMPTZ)
  at!: Date;

  @Column({ type: 'text', name: 'request_id' })
  requestId!: string;

  @Column({ type: 'text' })
  method!: string;

  /** Without its query. */
  @Column({ type: 'text' })
  path!: string;

  @Column({ type: 'smallint' })
  status!: number;

  /** The code of the answer. */
  @Column({ type: 'text' })
  error!: string;

  @Column({ type: 'text' })
  reason!: string;

  @Column({ type: 'text', name: 'source_address' })
  sourceAddress!: string;

  /** The key that signed it; null when that is not known. */
  @Column({ type: 'uuid', name: 'key_id', nullable: true })
  keyId!: string | null;

  /** How many more were refused since the one before, and are not kept. */
  @Column({ type: 'integer', default: 0 })
  omitted!: number;
}
