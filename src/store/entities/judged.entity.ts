/** Ledger entries that were judged for good: their ranges and totals. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('judged_credits')
export class JudgedCredits {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ ...BIGINT })
  credits!: bigint;
}

@Entity('judged_entries')
export class JudgedEntries {
  @PrimaryColumn({ ...BIGINT, name: 'to_id' })
  toId!: bigint;

  @Column({ type: 'text' })
  digest!: string;
}
