/** One row while nothing may be sold until the operator has explained what was found. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('sales_stop')
export class SalesStop {
  @PrimaryColumn({ type: 'smallint' })
  id!: number;

  @Column({ type: 'text' })
  reason!: string;

  @Column({ type: 'jsonb' })
  findings!: readonly Readonly<Record<string, unknown>>[];

  @Column({ ...TIMESTAMPTZ, name: 'stopped_at' })
  stoppedAt!: Date;
}
