/** A key canary: a known text, sealed under a key, that identifies the key. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('key_canary')
export class KeyCanary {
  @PrimaryColumn({ type: 'text' })
  purpose!: string;

  @Column({ type: 'bytea' })
  sealed!: Buffer;

  /** The public half of the key, for processes that only seal; null for keys without such processes. */
  @Column({ type: 'bytea', name: 'public_key', nullable: true })
  publicKey!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'sealed_at' })
  sealedAt!: Date;
}
