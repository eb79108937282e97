/** The latest time that the database's clock has shown. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('clock_mark')
export class ClockMark {
  @PrimaryColumn({ type: 'smallint' })
  id!: number;

  @Column({ ...TIMESTAMPTZ, name: 'seen_at' })
  seenAt!: Date;

  /** The last reading by a worker; null before the first. */
  @Column({ ...TIMESTAMPTZ, name: 'followed_at', nullable: true })
  followedAt!: Date | null;

  /** The last jump that a worker observed, by the clock after the jump. */
  @Column({ ...TIMESTAMPTZ, name: 'jumped_at', nullable: true })
  jumpedAt!: Date | null;

  /** The jump after which the spending of the day was counted again. */
  @Column({ ...TIMESTAMPTZ, name: 'counted_jump', nullable: true })
  countedJump!: Date | null;
}
