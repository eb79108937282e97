/** A solid block that was passed without knowing what it holds. Written by `reconciliation` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('unsearched_block')
export class UnsearchedBlock {
  @PrimaryColumn(BIGINT)
  number!: bigint;

  /** How often it was read again. */
  @Column({ type: 'integer', default: 0 })
  tries!: number;
}
