/** A transaction that a person wants explained in a console, and the answer of a worker. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('explanation_request')
export class ExplanationRequest {
  @PrimaryColumn('uuid')
  id!: string;

  /** null: an operator asked, and the orders of all projects count. */
  @Column({ type: 'uuid', nullable: true, name: 'project_id' })
  projectId!: string | null;

  @Column('bytea')
  txid!: Buffer;

  @Column({ ...TIMESTAMPTZ, name: 'requested_at', default: () => 'clock_timestamp()' })
  requestedAt!: Date;

  @Column({ ...TIMESTAMPTZ, nullable: true, name: 'taken_at' })
  takenAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, nullable: true, name: 'answered_at' })
  answeredAt!: Date | null;

  /** The body of GET /v1/explain/{txid}; null in an answered row if no transaction of the project was found. */
  @Column({ type: 'jsonb', nullable: true })
  answer!: object | null;

  @Column({ type: 'text', nullable: true })
  error!: string | null;
}
