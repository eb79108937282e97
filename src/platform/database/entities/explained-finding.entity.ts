/** A disagreement between the records and the chain that the operator has explained. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('explained_finding')
export class ExplainedFinding {
  @PrimaryColumn({ type: 'text' })
  fingerprint!: string;

  @Column({ type: 'text', name: 'check_name' })
  checkName!: string;

  @Column({ type: 'text' })
  subject!: string;

  @Column({ type: 'jsonb' })
  facts!: Readonly<Record<string, unknown>>;

  @Column({ type: 'numeric', nullable: true })
  amount!: string | null;

  @Column({ type: 'text' })
  actor!: string;

  @Column({ type: 'text' })
  reason!: string;

  @Column({ ...TIMESTAMPTZ, name: 'explained_at' })
  explainedAt!: Date;
}
