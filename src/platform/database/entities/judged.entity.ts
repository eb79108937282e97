/** Results of reconciliation for old ledger entries: the digest of each judged range, and each project's sum. */
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
