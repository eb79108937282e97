/** The newest positions of the event logs. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

/** The log of one project. */
@Entity('event_position')
export class EventPosition {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  /** The last position assigned. */
  @Column(BIGINT)
  position!: bigint;

  /** The last position that retention has removed. */
  @Column({ ...BIGINT, name: 'pruned_to' })
  prunedTo!: bigint;
}

/** One row: the server on which the numberer last worked, and the last id that retention has removed. */
@Entity('event_numbering')
export class EventNumbering {
  @PrimaryColumn({ type: 'smallint' })
  id!: number;

  @Column({ type: 'text', name: 'server_mark', nullable: true })
  serverMark!: string | null;

  @Column({ ...BIGINT, name: 'pruned_id' })
  prunedId!: bigint;
}
