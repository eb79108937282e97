/** Time bought for a rental that runs, and the keys that orders and extensions were taken under. Written once. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

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

  /** The end of the rental that it made, by the chain's clock. */
  @Column({ ...TIMESTAMPTZ, name: 'ends_at' })
  endsAt!: Date;

  @Column({ type: 'text', name: 'request_id', nullable: true })
  requestId!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}

/** One key of a project, of an order or of one of its extensions: the referee of both, for ever. */
@Entity('order_key')
export class OrderKey {
  @PrimaryColumn({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @PrimaryColumn({ type: 'text' })
  key!: string;

  @Column({ ...BIGINT, name: 'order_id' })
  orderId!: bigint;

  /** The number of the extension; null of the order itself. */
  @Column({ type: 'smallint', nullable: true })
  extension!: number | null;
}
