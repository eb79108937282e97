/** An address that takes no mails any more, by a keyed hash of it. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('mail_refusal')
export class MailRefusal {
  @PrimaryColumn({ type: 'bytea', name: 'address_key' })
  addressKey!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'refused_at' })
  refusedAt!: Date;
}
