/** One movement of credits, never changed. Written by the ledger and by the functions that charge orders. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Credits } from '../../../domain/units.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('credit_entry')
export class CreditEntry {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'text', name: 'entry_key' })
  entryKey!: string;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  contra!: 'revenue' | 'funding' | 'adjustments' | 'test';

  @Column({ type: 'text' })
  kind!: 'charge' | 'refund' | 'topup' | 'adjustment' | 'compensation';

  @Column(BIGINT)
  credits!: Credits;

  @Column({ ...BIGINT, name: 'order_id', nullable: true })
  orderId!: bigint | null;

  /** The API key that is charged. Null for the primary key, and for entries without a request. */
  @Column({ type: 'uuid', name: 'api_key_id', nullable: true })
  apiKeyId!: string | null;

  @Column({ type: 'text', nullable: true })
  actor!: string | null;

  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}
