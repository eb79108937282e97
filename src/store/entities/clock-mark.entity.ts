/** The latest time that the database's clock has shown. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('clock_mark')
export class ClockMark {
  @PrimaryColumn({ type: 'smallint' })
  id!: number;

  @Column({ ...TIMESTAMPTZ, name: 'seen_at' })
  seenAt!: Date;
}
