/** A node's answer to a broadcast; it proves nothing. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('broadcast')
export class Broadcast {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ ...BIGINT, name: 'chain_tx_id' })
  chainTxId!: bigint;

  @Column({ type: 'text' })
  node!: string;

  @Column({ type: 'text' })
  answer!: string;

  @Column({ type: 'text', nullable: true })
  message!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'sent_at' })
  sentAt!: Date;
}
