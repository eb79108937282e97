/** What each key is recognised by: a known text, sealed under it. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('key_canary')
export class KeyCanary {
  @PrimaryColumn({ type: 'text' })
  purpose!: string;

  @Column({ type: 'bytea' })
  sealed!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'sealed_at' })
  sealedAt!: Date;
}
