/** The unsold and the recovering energy of a pool wallet over one UTC day. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('pool_wallet_day')
export class PoolWalletDay {
  @PrimaryColumn({ type: 'integer', name: 'wallet_id' })
  walletId!: number;

  @PrimaryColumn({ type: 'date' })
  day!: string;

  /** The part of the day in which the wallet was read without a gap. */
  @Column({ ...BIGINT, name: 'measured_ms' })
  measuredMs!: bigint;

  /** Energy times milliseconds. */
  @Column({ type: 'numeric', name: 'idle_energy_ms' })
  idleEnergyMs!: string;

  /** Energy times milliseconds. */
  @Column({ type: 'numeric', name: 'recovering_energy_ms' })
  recoveringEnergyMs!: string;
}
