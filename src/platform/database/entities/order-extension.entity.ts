/** Extensions of running rentals, and the idempotency keys of orders and extensions. Never changed. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, REQUEST_ID, TIMESTAMPTZ } from '../columns.js';

@Entity('order_extension')
export class OrderExtension {
  @PrimaryColumn({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  /** From 1, without gaps. */
  @PrimaryColumn({ type: 'smallint' })
  number!: number;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  key!: string;

  @Column({ type: 'bytea', name: 'request_hash' })
  requestHash!: Buffer;

  @Column({ type: 'integer', name: 'duration_sec' })
  durationSec!: number;

  @Column({ ...BIGINT, name: 'price_sun' })
  priceSun!: bigint;

  @Column(BIGINT)
  credits!: bigint;

  @Column({ ...BIGINT, name: 'trx_usd_e8' })
  trxUsdE8!: bigint;

  /** The new end of the rental, by the chain's clock. */
  @Column({ ...TIMESTAMPTZ, name: 'ends_at' })
  endsAt!: Date;

  @Column({ ...REQUEST_ID, name: 'request_id', nullable: true })
  requestId!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ type: 'integer', name: 'expected_uses', nullable: true })
  expectedUses!: number | null;

  @Column({ ...BIGINT, name: 'fee_limit_sun', nullable: true })
  feeLimitSun!: bigint | null;

  /** True if the chain accepted no fee limit that is high enough. */
  @Column({ type: 'boolean', name: 'fee_limit_capped', nullable: true })
  feeLimitCapped!: boolean | null;
}
