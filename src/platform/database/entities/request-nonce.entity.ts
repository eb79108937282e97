/**
 * The nonce of a signed request. It is stored for as long as the request's timestamp is acceptable, so that a replay is
 * refused. Written by `auth` alone.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('request_nonce')
export class RequestNonce {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @PrimaryColumn({ type: 'text' })
  nonce!: string;

  @Column({ ...TIMESTAMPTZ, name: 'expires_at' })
  expiresAt!: Date;
}
