/** What a pool wallet could have sold and did not, and what was recovering, over one UTC day. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT } from '../columns.js';

@Entity('pool_wallet_day')
export class PoolWalletDay {
  @PrimaryColumn({ type: 'integer', name: 'wallet_id' })
  walletId!: number;

  @PrimaryColumn({ type: 'date' })
  day!: string;

  /** Of the day, how long the wallet was read without a gap. */
  @Column({ ...BIGINT, name: 'measured_ms' })
  measuredMs!: bigint;

  /** Energy times milliseconds. */
  @Column({ type: 'numeric', name: 'idle_energy_ms' })
  idleEnergyMs!: string;

  /** Energy times milliseconds. */
  @Column({ type: 'numeric', name: 'recovering_energy_ms' })
  recoveringEnergyMs!: string;
}
