/** A solid block that the search skipped, because no node could show it. Written by `reconciliation` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('unsearched_block')
export class UnsearchedBlock {
  @PrimaryColumn(BIGINT)
  number!: bigint;

  /** The number of further attempts to read it. */
  @Column({ type: 'integer', default: 0 })
  tries!: number;
}
