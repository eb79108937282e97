/** The time from which a host or address may get the next request, across all senders. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('webhook_destination')
export class WebhookDestination {
  @PrimaryColumn({ type: 'text' })
  name!: string;

  @Column({ ...TIMESTAMPTZ, name: 'free_at' })
  freeAt!: Date;
}
