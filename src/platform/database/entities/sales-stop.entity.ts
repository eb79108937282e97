/** One row while sales are stopped, until the operator has explained the finding. */
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
