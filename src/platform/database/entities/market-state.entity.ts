/** A figure from an outside source that one process read for all. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('market_state')
export class MarketState {
  @PrimaryColumn({ type: 'text' })
  name!: string;

  @Column({ type: 'jsonb' })
  value!: Readonly<Record<string, unknown>>;

  @Column({ ...TIMESTAMPTZ, name: 'measured_at' })
  measuredAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'lease_until', nullable: true })
  leaseUntil!: Date | null;
}
