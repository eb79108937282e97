/** Whose turn it is to reconcile, and how far the chain was searched. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('reconcile_state')
export class ReconcileState {
  @PrimaryColumn({ type: 'smallint' })
  id!: number;

  @Column({ ...TIMESTAMPTZ, name: 'lease_until', nullable: true })
  leaseUntil!: Date | null;

  @Column({ type: 'integer' })
  fence!: number;

  @Column({ ...TIMESTAMPTZ, name: 'passed_at', nullable: true })
  passedAt!: Date | null;

  @Column({ ...BIGINT, name: 'scanned_to', nullable: true })
  scannedTo!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'searched_at', nullable: true })
  searchedAt!: Date | null;
}
