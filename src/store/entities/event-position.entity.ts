/** How far the logs of events have come. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

/** The log of one project. */
@Entity('event_position')
export class EventPosition {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  /** The last one that was given. */
  @Column(BIGINT)
  position!: bigint;

  /** Up to which position nothing can be read any more. */
  @Column({ ...BIGINT, name: 'pruned_to' })
  prunedTo!: bigint;
}

/** One row: which server numbers the events of all projects, and up to which id retention has come. */
@Entity('event_numbering')
export class EventNumbering {
  @PrimaryColumn({ type: 'smallint' })
  id!: number;

  @Column({ type: 'text', name: 'server_mark', nullable: true })
  serverMark!: string | null;

  @Column({ ...BIGINT, name: 'pruned_id' })
  prunedId!: bigint;
}
