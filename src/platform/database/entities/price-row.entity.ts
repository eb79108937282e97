/** The prices of one energy and one unit of bandwidth for rentals up to a duration. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('price_row')
export class PriceRow {
  @PrimaryColumn({ type: 'integer', name: 'duration_max_sec' })
  durationMaxSec!: number;

  @Column({ ...BIGINT, name: 'sun_per_energy' })
  sunPerEnergy!: bigint;

  /** Null where no bandwidth is sold. */
  @Column({ ...BIGINT, name: 'sun_per_bandwidth', nullable: true })
  sunPerBandwidth!: bigint | null;
}
