/** The price of an asset in dollars, minute by minute. Written by `deposits` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DepositAsset } from '../../../domain/deposit-state.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('asset_rate')
export class AssetRate {
  @PrimaryColumn({ type: 'text' })
  asset!: DepositAsset;

  @PrimaryColumn(TIMESTAMPTZ)
  minute!: Date;

  @Column({ ...BIGINT, name: 'rate_e8' })
  rateE8!: bigint;

  /** The time of storing; null in rows from before this column. */
  @Column({ ...TIMESTAMPTZ, name: 'kept_at', nullable: true })
  keptAt!: Date | null;
}
