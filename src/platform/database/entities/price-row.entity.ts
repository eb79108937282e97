/** The price of one energy for rentals up to a duration. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('price_row')
export class PriceRow {
  @PrimaryColumn({ type: 'integer', name: 'duration_max_sec' })
  durationMaxSec!: number;

  @Column({ ...BIGINT, name: 'sun_per_energy' })
  sunPerEnergy!: bigint;
}
