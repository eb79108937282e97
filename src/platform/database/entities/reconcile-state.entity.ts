/** The lease of the reconciler, and the positions up to which the chain was searched and the records were judged. */
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

  @Column({ type: 'text', name: 'server_mark', nullable: true })
  serverMark!: string | null;

  @Column({ type: 'text', name: 'search_mark', nullable: true })
  searchMark!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'search_until', nullable: true })
  searchUntil!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'scanned_at', nullable: true })
  scannedAt!: Date | null;

  @Column({ ...BIGINT, name: 'entries_to' })
  entriesTo!: bigint;

  @Column({ ...BIGINT, name: 'entries_after' })
  entriesAfter!: bigint;

  @Column({ ...BIGINT, name: 'orders_after' })
  ordersAfter!: bigint;
}
