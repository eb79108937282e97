/** The nonce of a signed request, while a replay of it could still be in time. Written by `auth` alone. */
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
