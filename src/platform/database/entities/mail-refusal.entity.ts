/** An e-mail address whose reader refused further mails, stored as a keyed hash. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('mail_refusal')
export class MailRefusal {
  @PrimaryColumn({ type: 'bytea', name: 'address_key' })
  addressKey!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'refused_at' })
  refusedAt!: Date;
}
