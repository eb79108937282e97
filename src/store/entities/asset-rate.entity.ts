/** The price of an asset in dollars, minute by minute. Written by `deposits` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DepositAsset } from '../../domain/deposit-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('asset_rate')
export class AssetRate {
  @PrimaryColumn({ type: 'text' })
  asset!: DepositAsset;

  @PrimaryColumn(TIMESTAMPTZ)
  minute!: Date;

  @Column({ ...BIGINT, name: 'rate_e8' })
  rateE8!: bigint;

  /** When it was stored; null for one that is older than this column. */
  @Column({ ...TIMESTAMPTZ, name: 'kept_at', nullable: true })
  keptAt!: Date | null;
}
