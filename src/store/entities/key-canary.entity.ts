/** What each key is recognised by: a known text, sealed under it. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('key_canary')
export class KeyCanary {
  @PrimaryColumn({ type: 'text' })
  purpose!: string;

  @Column({ type: 'bytea' })
  sealed!: Buffer;

  /** What is sealed to it opens under the key; null of what nobody seals so. */
  @Column({ type: 'bytea', name: 'public_key', nullable: true })
  publicKey!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'sealed_at' })
  sealedAt!: Date;
}
