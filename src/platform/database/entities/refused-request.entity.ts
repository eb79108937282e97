/** A project's request that was refused (4xx). Written by `auth`, pruned by `requests`. */
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

  /** The path without its query. */
  @Column({ type: 'text' })
  path!: string;

  @Column({ type: 'smallint' })
  status!: number;

  /** The error code of the answer. */
  @Column({ type: 'text' })
  error!: string;

  @Column({ type: 'text' })
  reason!: string;

  @Column({ type: 'text', name: 'source_address' })
  sourceAddress!: string;

  /** The API key that signed the request; null if it is unknown. */
  @Column({ type: 'uuid', name: 'key_id', nullable: true })
  keyId!: string | null;

  /** The number of requests refused since the previous row and not stored. */
  @Column({ type: 'integer', default: 0 })
  omitted!: number;
}
