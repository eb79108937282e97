/** When the next request may go to a host or an address, over all senders. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('webhook_destination')
export class WebhookDestination {
  @PrimaryColumn({ type: 'text' })
  name!: string;

  @Column({ ...TIMESTAMPTZ, name: 'free_at' })
  freeAt!: Date;
}
