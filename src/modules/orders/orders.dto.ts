/** Request and response bodies of orders (docs/interface.md §9, §12). Only DTOs and SQL use snake_case. */
import { IsText, IsTronAddress, OneOf, Optional, Parameter } from '../../platform/http/body/member-rules.js';
import { PageQuery, timeParameter } from '../../platform/http/body/page-query.js';
import type { Entries } from '../../platform/http/body/plain-values.js';
import { addressFault } from '../../platform/chain/address.js';
import { rateText, trxOf, usdOfCredits } from '../../domain/conversion.js';
import { invalidField } from '../../domain/errors.js';
import { feeLimitFor } from '../../domain/fee-limit.js';
import { itemsOf, type OrderItem } from '../../domain/order-items.js';
import { DEFAULT_DURATION_SEC } from '../../domain/price.js';
import { credits, energy, sun, toJsonInteger, type Credits, type RateE8, type Sun } from '../../domain/units.js';
import { TransferMembers, transferOf } from '../quotes/transfer.dto.js';
import {
  feeLimitMembers,
  furtherPartsOf,
  itemsMember,
  IsActivate,
  IsBandwidth,
  IsDuration,
  IsEnergy,
  IsExpectedUses,
  pricePerUse,
  usesOf,
  type FeeLimitMembers,
  type ItemBody,
  type ItemisedTerms,
} from '../quotes/quote.dto.js';
import { measuredUseBody, type MeasuredUse } from './measured-use.js';
import { IsMetadata, IsReference, REFERENCE_PARAMETER, type Labelled, type OrderMetadata } from './order-labels.js';
import type { CompensationRow, ExtensionRow, LegRow, OrderRow } from './order-rows.js';
import { ORDER_STATUSES, type OrderKind, type OrderStatus } from '../../domain/order-state.js';
import type { RequestTerms } from './request-hash.js';

/** The purchase itself, without labels. */
export class UnlabelledOrderRequest extends TransferMembers {
  @Optional()
  @IsTronAddress('Receiver of the energy: the sender of the upcoming transfer. Optional with a quote_ref.')
  declare readonly receive_address?: string;

  @Optional()
  @IsEnergy(
    'Energy to buy. If absent, sized by the receiver’s own token balance, as with quotes. Small amounts may not be worth renting, as with quotes.',
  )
  declare readonly energy?: number;

  @Optional()
  @IsDuration({ isLongJudged: false })
  declare readonly duration_sec?: number;

  @Optional()
  @IsExpectedUses()
  declare readonly expected_uses?: number;

  @Optional()
  @IsBandwidth()
  declare readonly bandwidth?: number;

  @Optional()
  @IsActivate()
  declare readonly activate?: boolean;

  @Optional()
  @IsText({ maxLength: 512, isLookupOnly: true, description: 'A quote to redeem once, at its price.' })
  declare readonly quote_ref?: string;
}

/** An order as requested. `named`: the members that the caller sent, since a quote may differ from their defaults. */
export type RequestedOrder =
  | (Extract<RequestTerms, { kind: 'quoted' }> & { readonly named: UnlabelledOrderRequest })
  | Extract<RequestTerms, { kind: 'direct' | 'activation' }>;

/** Returns the requested rental. Throws 400 if the request has neither a quote nor an address. */
export function requestedRental(request: UnlabelledOrderRequest): RequestedOrder {
  const { quote_ref: ref, receive_address: receiveAddress, energy: amount, duration_sec: durationSec } = request;
  const transfer = transferOf(request);
  if (ref !== undefined) {
    if (transfer !== undefined)
      throw invalidField('transfer_to', 'must not be sent with a quote_ref, whose energy is fixed');
    return { kind: 'quoted', ref, named: request };
  }
  if (receiveAddress === undefined) throw invalidField('receive_address', 'is required without a quote_ref');
  const seconds = durationSec ?? DEFAULT_DURATION_SEC;
  return {
    kind: 'direct',
    receiveAddress,
    energy: amount === undefined ? undefined : energy(amount),
    durationSec: seconds,
    transfer,
    expectedUses: usesOf(request.expected_uses, seconds),
    ...furtherPartsOf(request),
  };
}

export class OrderRequest extends UnlabelledOrderRequest implements Labelled {
  @Optional()
  @IsReference()
  declare readonly reference?: string;

  @Optional()
  @IsMetadata()
  declare readonly metadata?: Entries;
}

export class OrderListQuery extends PageQuery {
  @OneOf(ORDER_STATUSES, 'Only orders in this status.')
  declare readonly status?: OrderStatus;

  @Parameter({
    name: 'isReceiver',
    faultOf: (value) => addressFault(String(value)),
    openApi: () => ({
      type: 'string',
      pattern: '^T[1-9A-HJ-NP-Za-km-z]{33}$',
      description: 'Only orders for this address.',
    }),
  })
  declare readonly receive_address?: string;

  @Parameter(REFERENCE_PARAMETER)
  declare readonly reference?: string;

  @timeParameter('Only orders created at this time or later: a UTC day, or a UTC time ending in Z.')
  declare readonly from?: string;

  @timeParameter('Only orders created before this time.')
  declare readonly to?: string;
}

export interface Delegation {
  readonly owner_address: string;
  readonly txid: string;
  readonly resource?: 'BANDWIDTH';
  readonly energy?: number;
  readonly bandwidth?: number;
  readonly amount_sun: number;
  readonly block_number?: number;
  readonly reclaim_txid?: string;
}

export interface Compensation {
  readonly credits: number;
  readonly at: string;
  readonly reason: string;
}

export interface Extension {
  readonly key: string;
  readonly duration_sec: number;
  readonly expected_uses?: number;
  readonly credits: number;
  readonly price_per_use_sun?: number;
  readonly fee_limit_sun?: number;
  readonly fee_limit_capped?: true;
  readonly at: string;
}

/** An order as the API returns it. Members that do not apply are absent, never null. */
export interface OrderBody {
  readonly id: number;
  readonly key: string;
  readonly idempotency_key: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly receive_address: string;
  readonly energy?: number;
  readonly bandwidth?: number;
  readonly duration_sec?: number;
  readonly expected_uses?: number;
  readonly price_sun: number;
  readonly price_trx: string;
  readonly price_usd: string;
  readonly credits: number;
  readonly trx_usd: string;
  readonly items?: readonly ItemBody[];
  readonly price_per_use_sun?: number;
  readonly fee_limit_sun?: number;
  readonly fee_limit_capped?: true;
  readonly delivered_energy?: number;
  readonly delivered_bandwidth?: number;
  readonly kept_credits?: number;
  readonly settled: boolean;
  readonly needs_attention: boolean;
  readonly error?: string;
  readonly error_code?: string;
  readonly reference?: string;
  readonly metadata?: OrderMetadata;
  readonly created_at: string;
  readonly delivered_at?: string;
  readonly ends_at?: string;
  readonly reclaimed_at?: string;
  readonly ended_early_by?: string;
  readonly extensions?: readonly Extension[];
  readonly compensations?: readonly Compensation[];
  readonly delegations?: readonly Delegation[];
  readonly measured_use?: MeasuredUse;
  readonly txid?: string;
  readonly test?: true;
}

/** Default error of a failed order without a more exact record. The codes are those of this family of interfaces. */
const FAULTS: Readonly<Partial<Record<OrderStatus, { readonly code: string; readonly error: string }>>> = {
  refunded: { code: 'SUPPLIER_REFUSED', error: 'The order could not be delivered; the charge was returned.' },
  unresolved: {
    code: 'SUPPLIER_UNKNOWN',
    error: 'It is not known yet if the order was delivered. It resolves itself when the chain answers.',
  },
};

/**
 * Returns the response body of an order. Written out member by member: a class mapper would cost more than the read.
 */
export function orderBody(row: OrderRow): OrderBody {
  const fault = FAULTS[row.status];
  const isDelivered = row.status === 'delivered';
  const legs = row.legs ?? [];
  const activation = legs.find((leg) => !isDelegation(leg) || row.kind === 'activation');
  const compensations = row.compensations ?? [];
  const extensions = row.extensions ?? [];
  const endedEarlyBy = legs.find((leg) => leg.ended_early_by !== null)?.ended_early_by ?? undefined;
  return {
    id: toJsonInteger(row.id),
    key: row.key,
    idempotency_key: row.key,
    kind: row.kind,
    status: row.status,
    receive_address: row.receive_address,
    ...(row.energy !== null && { energy: toJsonInteger(row.energy) }),
    ...(row.bandwidth !== null && { bandwidth: toJsonInteger(row.bandwidth) }),
    ...(row.duration_sec !== null && { duration_sec: row.duration_sec }),
    ...(row.expected_uses !== null && { expected_uses: row.expected_uses }),
    price_sun: toJsonInteger(row.price_sun),
    price_trx: trxOf(row.price_sun),
    price_usd: usdOfCredits(row.credits as Credits),
    credits: toJsonInteger(row.credits),
    trx_usd: rateText(row.trx_usd_e8 as RateE8),
    ...itemsMember(termsOf(row)),
    ...(row.expected_uses !== null && { price_per_use_sun: pricePerUse(row.price_sun as Sun, row.expected_uses) }),
    ...feeLimitOf(row),
    ...(isDelivered && row.delivered_energy !== null && { delivered_energy: toJsonInteger(row.delivered_energy) }),
    ...(isDelivered &&
      row.delivered_bandwidth !== null && { delivered_bandwidth: toJsonInteger(row.delivered_bandwidth) }),
    ...(row.kept_credits !== null && { kept_credits: toJsonInteger(row.kept_credits) }),
    settled: row.settled || row.status === 'refunded',
    needs_attention: row.needs_attention,
    ...(fault !== undefined && { error: row.error ?? fault.error, error_code: row.error_code ?? fault.code }),
    ...(row.reference !== null && { reference: row.reference }),
    ...(row.metadata !== null && { metadata: row.metadata }),
    created_at: row.created_at.toISOString(),
    ...(isDelivered && row.delivered_at !== null && { delivered_at: row.delivered_at.toISOString() }),
    ...(isDelivered && row.ends_at !== null && { ends_at: row.ends_at.toISOString() }),
    ...(isDelivered && row.reclaimed_at !== null && { reclaimed_at: row.reclaimed_at.toISOString() }),
    ...(endedEarlyBy !== undefined && { ended_early_by: endedEarlyBy }),
    ...(extensions.length > 0 && { extensions: extensions.map(extensionBody) }),
    ...(compensations.length > 0 && { compensations: compensations.map(compensationBody) }),
    ...(row.kind === 'rental' && { delegations: legs.filter(isDelegation).map(delegationBody) }),
    ...(row.measured_use !== null &&
      !row.test && { measured_use: measuredUseBody(row.measured_use, row.energy_fee_sun, row) }),
    ...(activation !== undefined && { txid: activation.txid }),
    ...(row.test && { test: true as const }),
  };
}

/** A leg without a kind is of a snapshot from before an order had several parts. */
const isDelegation = ({ kind }: LegRow): boolean => kind !== 'activation';

/** Returns the parts of an order; none for an activation alone. */
export function orderItems(row: ItemisedRow): readonly OrderItem[] {
  const terms = termsOf(row);
  return terms === undefined ? [] : itemsOf(terms);
}

type ItemisedRow = Pick<
  OrderRow,
  | 'energy'
  | 'price_sun'
  | 'credits'
  | 'bandwidth'
  | 'bandwidth_price_sun'
  | 'bandwidth_credits'
  | 'activation_price_sun'
  | 'activation_credits'
>;

/** Returns the terms of an order as its items are computed from; undefined for one of a single part. */
function termsOf(row: ItemisedRow): ItemisedTerms | undefined {
  const { bandwidth, bandwidth_price_sun: bandwidthSun, bandwidth_credits: bandwidthCredits } = row;
  const { activation_price_sun: activationSun, activation_credits: activationCredits } = row;
  if (row.energy === null) return undefined;
  return {
    energy: energy(row.energy),
    priceSun: row.price_sun as Sun,
    credits: row.credits as Credits,
    ...(bandwidth !== null && {
      bandwidth: { units: bandwidth, priceSun: sun(bandwidthSun ?? 0n), credits: credits(bandwidthCredits ?? 0n) },
    }),
    ...(activationSun !== null && {
      activation: { priceSun: sun(activationSun), credits: credits(activationCredits ?? 0n) },
    }),
  };
}

/** Returns the fee limit by the chain's rules when the order was priced, so that every answer has the same. */
function feeLimitOf(row: OrderRow): FeeLimitMembers | undefined {
  const { energy: amount, energy_fee_sun: energyFeeSun, max_fee_limit_sun: max } = row;
  if (amount === null || energyFeeSun === null) return undefined;
  return feeLimitMembers(feeLimitFor(energy(amount), { energyFeeSun, maxFeeLimitSun: max ?? undefined }));
}

function extensionBody(row: ExtensionRow): Extension {
  const uses = row.expected_uses ?? undefined;
  const limit = row.fee_limit_sun ?? undefined;
  return {
    key: row.key,
    duration_sec: row.duration_sec,
    ...(uses !== undefined && { expected_uses: uses }),
    credits: row.credits,
    ...(uses !== undefined &&
      row.price_sun !== undefined && { price_per_use_sun: pricePerUse(sun(row.price_sun), uses) }),
    ...(limit !== undefined && { fee_limit_sun: limit }),
    ...(row.fee_limit_capped === true && { fee_limit_capped: true as const }),
    at: new Date(row.at).toISOString(),
  };
}

function compensationBody({ credits, at, reason }: CompensationRow): Compensation {
  return { credits, at: new Date(at).toISOString(), reason };
}

function delegationBody(leg: LegRow): Delegation {
  return {
    owner_address: leg.owner,
    txid: leg.txid,
    ...(leg.kind === 'bandwidth' && { resource: 'BANDWIDTH' as const }),
    ...(leg.energy !== null && { energy: leg.energy }),
    ...(leg.bandwidth !== null && leg.bandwidth !== undefined && { bandwidth: leg.bandwidth }),
    amount_sun: leg.amount_sun,
    ...(leg.block_number !== null && { block_number: leg.block_number }),
    ...(leg.reclaim_txid !== null && { reclaim_txid: leg.reclaim_txid }),
  };
}
