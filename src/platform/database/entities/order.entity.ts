/** One purchase: its terms, charge and outcome. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OrderKind, OrderStatus } from '../../../domain/order-state.js';
import { BIGINT, REQUEST_ID, TIMESTAMPTZ } from '../columns.js';

@Entity('orders')
export class Order {
  @PrimaryColumn({ ...BIGINT, generated: 'identity', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  key!: string;

  @Column({ type: 'bytea', name: 'request_hash' })
  requestHash!: Buffer;

  @Column({ type: 'uuid', name: 'quote_id', nullable: true })
  quoteId!: string | null;

  @Column({ type: 'text' })
  kind!: OrderKind;

  @Column({ type: 'text' })
  status!: OrderStatus;

  @Column({ type: 'text', name: 'receive_address' })
  receiveAddress!: string;

  @Column({ ...BIGINT, nullable: true })
  energy!: bigint | null;

  @Column({ type: 'integer', name: 'duration_sec', nullable: true })
  durationSec!: number | null;

  @Column({ ...BIGINT, name: 'price_sun' })
  priceSun!: bigint;

  @Column(BIGINT)
  credits!: bigint;

  @Column({ ...BIGINT, name: 'trx_usd_e8' })
  trxUsdE8!: bigint;

  @Column({ ...REQUEST_ID, name: 'request_id', nullable: true })
  requestId!: string | null;

  /** Expected number of uses of the energy, as the caller sent it. */
  @Column({ type: 'integer', name: 'expected_uses', nullable: true })
  expectedUses!: number | null;

  /** The transfer that sized the order, as the caller sent it. */
  @Column({ type: 'json', nullable: true })
  transfer!: { readonly to: string; readonly amount: string; readonly token?: string } | null;

  /** The chain's price of one energy when the order was priced. */
  @Column({ ...BIGINT, name: 'energy_fee_sun', nullable: true })
  energyFeeSun!: bigint | null;

  /** The highest fee limit that the chain accepted when the order was priced, in sun. */
  @Column({ ...BIGINT, name: 'max_fee_limit_sun', nullable: true })
  maxFeeLimitSun!: bigint | null;

  /** Units of bandwidth sold beside the energy. */
  @Column({ ...BIGINT, nullable: true })
  bandwidth!: bigint | null;

  /** The share of bandwidth in the price. */
  @Column({ ...BIGINT, name: 'bandwidth_price_sun', nullable: true })
  bandwidthPriceSun!: bigint | null;

  @Column({ ...BIGINT, name: 'bandwidth_credits', nullable: true })
  bandwidthCredits!: bigint | null;

  /** The share of an activation in the price. */
  @Column({ ...BIGINT, name: 'activation_price_sun', nullable: true })
  activationPriceSun!: bigint | null;

  @Column({ ...BIGINT, name: 'activation_credits', nullable: true })
  activationCredits!: bigint | null;

  @Column({ ...BIGINT, name: 'delivered_bandwidth', nullable: true })
  deliveredBandwidth!: bigint | null;

  /** The share that a refund did not return, because the chain has the activation. */
  @Column({ ...BIGINT, name: 'kept_credits', nullable: true })
  keptCredits!: bigint | null;

  /** The project's own label to list orders by. */
  @Column({ type: 'text', nullable: true })
  reference!: string | null;

  @Column({ type: 'json', nullable: true })
  metadata!: Readonly<Record<string, string>> | null;

  @Column({ type: 'boolean' })
  settled!: boolean;

  @Column({ type: 'boolean' })
  undoing!: boolean;

  @Column({ type: 'boolean', name: 'needs_attention' })
  needsAttention!: boolean;

  @Column({ type: 'text', name: 'error_code', nullable: true })
  errorCode!: string | null;

  @Column({ type: 'text', nullable: true })
  error!: string | null;

  @Column({ ...BIGINT, name: 'delivered_energy', nullable: true })
  deliveredEnergy!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'delivered_at', nullable: true })
  deliveredAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'ends_at', nullable: true })
  endsAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'reclaimed_at', nullable: true })
  reclaimedAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'placed_at', nullable: true })
  placedAt!: Date | null;

  /** The number of extensions. */
  @Column({ type: 'smallint' })
  extensions!: number;

  /** Sun delegated per unit of energy sold, × 10^6. While the rental runs, it is compared with the current ratio. */
  @Column({ ...BIGINT, name: 'sun_per_energy_e6', nullable: true })
  sunPerEnergyE6!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'top_up_after', nullable: true })
  topUpAfter!: Date | null;

  /** Sun delegated per unit of bandwidth sold, × 10^6. */
  @Column({ ...BIGINT, name: 'sun_per_bandwidth_e6', nullable: true })
  sunPerBandwidthE6!: bigint | null;

  @Column({ ...TIMESTAMPTZ, name: 'bandwidth_top_up_after', nullable: true })
  bandwidthTopUpAfter!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'next_run_at', nullable: true })
  nextRunAt!: Date | null;

  @Column({ ...TIMESTAMPTZ, name: 'lease_until', nullable: true })
  leaseUntil!: Date | null;

  @Column({ type: 'integer' })
  fence!: number;

  /** True for an order of a test project; written by the row's guard. */
  @Column({ type: 'boolean', name: 'test' })
  isTest!: boolean;

  /** The due time of a test order's next move. Null once it has ended, and for orders that are really fulfilled. */
  @Column({ ...TIMESTAMPTZ, name: 'play_at', nullable: true })
  playAt!: Date | null;

  /** True if reconciliation found nothing wrong in this version of the row. Any change of the row resets it. */
  @Column({ type: 'boolean' })
  judged!: boolean;

  /** True for an archived row. Partition key of the table. */
  @Column({ type: 'boolean', name: 'archived' })
  isArchived!: boolean;
}
