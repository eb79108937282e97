/** Requests and answers of POST /v1/quotes (docs/interface.md §7). snake_case is confined to this file. */
import { IsFlag, IsInteger, IsTronAddress, Member, Optional } from '../../platform/http/body/member-rules.js';
import { decimal, rateText, trxOf, usdMicros } from '../../domain/conversion.js';
import { invalidField } from '../../domain/errors.js';
import type { FeeLimit } from '../../domain/fee-limit.js';
import { itemsOf, type OrderItem } from '../../domain/order-items.js';
import { divCeil, energy, toJsonInteger, type Sun } from '../../domain/units.js';
import { DEFAULT_DURATION_SEC, mostUses } from '../../domain/price.js';
import type { IssuedQuote, RentalRequest } from './quotes.service.js';
import { TransferMembers, transferOf } from './transfer.dto.js';
import type { RecipientState } from '../../domain/sizing.js';

/** Energy that a caller names, within the bounds of the settings. */
export const IsEnergy = (description: string) =>
  IsInteger(({ sales }) => ({ min: sales.energyMin, max: sales.energyMax }), description);

interface DurationRule {
  readonly isLongJudged?: boolean;
  /** Value for an omitted member, given the longest duration on sale; null makes the member mandatory. */
  readonly defaultOf?: ((longestSec: number | undefined) => number) | null;
  readonly description?: string;
}

const usualDefault = (): number => DEFAULT_DURATION_SEC;

/**
 * Seconds of rental, from the setting's minimum to the longest price row at present. With `isLongJudged` false, pricing
 * checks the maximum instead: an idempotent replay comes before that check, and the table may have been longer earlier.
 */
export const IsDuration = ({
  isLongJudged = true,
  defaultOf = usualDefault,
  description = 'Seconds of rental, at most the longest duration on sale.',
}: DurationRule = {}) =>
  Member({
    name: 'isDuration',
    isNumber: true,
    faultOf: (value, { sales: { durationMinSec }, sale: { longestSec } }) => {
      const most = (isLongJudged ? longestSec : undefined) ?? Number.MAX_SAFE_INTEGER;
      if (typeof value === 'number' && value >= durationMinSec && value <= most) return undefined;
      const upTo = longestSec === undefined ? 'on' : `to ${longestSec.toString()}`;
      return `must be an integer of seconds from ${durationMinSec.toString()} ${upTo}, written with digits`;
    },
    openApi: ({ sales: { durationMinSec }, sale: { longestSec } }) => ({
      type: 'integer',
      format: 'int32',
      minimum: durationMinSec,
      ...(longestSec !== undefined && { maximum: longestSec }),
      ...(defaultOf !== null && { default: defaultOf(longestSec) }),
      description,
      examples: [3600],
    }),
  });

/** Expected uses of a rental; `usesOf` judges them by its duration. */
export const IsExpectedUses = () =>
  Member({
    name: 'isExpectedUses',
    isNumber: true,
    faultOf: (value) =>
      typeof value === 'number' && value >= 1 ? undefined : 'must be an integer from 1, written with digits alone',
    openApi: ({ sale: { longestSec } }) => ({
      type: 'integer',
      format: 'int32',
      minimum: 1,
      ...(longestSec !== undefined && { maximum: mostUses(longestSec) }),
      default: 1,
      description:
        'The number of times that the wallet will spend the energy during the rental: at most one more than its whole days, ' +
        'since used energy recovers within 24 hours. The rental must cost less than burning TRX that often.',
      examples: [1],
    }),
  });

/** Of Postgres. A duration that is not judged yet may allow more uses. */
const INTEGER_MAX = 2 ** 31 - 1;

/** TRON: a token transfer takes 345 bytes. */
export const BANDWIDTH_MIN = 345;
export const BANDWIDTH_MAX = 10_000_000;

/** Units of bandwidth beside the energy. */
export const IsBandwidth = () =>
  IsInteger(
    () => ({ min: BANDWIDTH_MIN, max: BANDWIDTH_MAX }),
    'Units of bandwidth to buy beside the energy, for the same duration. Refused where none is on sale. Has a minimum price of its own.',
  );

/** True to activate the receiver first. */
export const IsActivate = () =>
  IsFlag('True to activate the receiver before anything is delegated to it. Refused if it exists already.');

/** Returns the parts beside energy that a request asks for. */
export function furtherPartsOf({ bandwidth, activate }: { readonly bandwidth?: number; readonly activate?: boolean }) {
  return {
    bandwidth: bandwidth === undefined ? undefined : BigInt(bandwidth),
    activate: activate === true ? true : undefined,
  };
}

/** Returns the expected uses of a request. Throws ApiError INVALID_REQUEST above the most that the duration allows. */
export function usesOf(expectedUses: number | undefined, durationSec: number): number | undefined {
  const most = Math.min(mostUses(durationSec), INTEGER_MAX);
  if (expectedUses === undefined || expectedUses <= most) return expectedUses;
  throw invalidField(
    'expected_uses',
    `must be from 1 to ${most.toString()} for a rental of ${durationSec.toString()} seconds`,
  );
}

export class QuoteRequest extends TransferMembers {
  @IsTronAddress('Spender of the energy: the sender of the upcoming transfer, not the token recipient.')
  declare readonly receive_address: string;

  @Optional()
  @IsEnergy(
    'Energy to buy, as POST /v1/simulate returns it. If absent, sized by the receiver’s own token balance, not by the recipient of its transfer. Every rental has a minimum price, so small amounts are not worth renting; the refusal names the smallest one that is.',
  )
  declare readonly energy?: number;

  @Optional()
  @IsDuration()
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
}

export function rentalOf(request: QuoteRequest, isTest: boolean): RentalRequest {
  return {
    isTest,
    receiveAddress: request.receive_address,
    energy: request.energy === undefined ? undefined : energy(request.energy),
    durationSec: request.duration_sec,
    transfer: transferOf(request),
    expectedUses: usesOf(request.expected_uses, request.duration_sec ?? DEFAULT_DURATION_SEC),
    ...furtherPartsOf(request),
  };
}

/** Returns the price of one use in sun, rounded up. */
export const pricePerUse = (priceSun: Sun, uses: number): number => toJsonInteger(divCeil(priceSun, BigInt(uses)));

/** Members of answers; the second only if the chain's highest fee limit is too low. */
export interface FeeLimitMembers {
  readonly fee_limit_sun: number;
  readonly fee_limit_capped?: true;
}

export const feeLimitMembers = ({ feeLimitSun, isFeeLimitCapped }: FeeLimit): FeeLimitMembers => ({
  fee_limit_sun: toJsonInteger(feeLimitSun),
  ...(isFeeLimitCapped && { fee_limit_capped: true as const }),
});

/** One part of a quote or an order, with its share of the price and the charge. */
export interface ItemBody {
  readonly kind: OrderItem['kind'];
  readonly amount: number;
  readonly price_sun: number;
  readonly credits: number;
}

export type ItemisedTerms = Parameters<typeof itemsOf>[0];

/** Returns the member `items`; none for energy alone. */
export function itemsMember(terms: ItemisedTerms | undefined): { readonly items?: readonly ItemBody[] } {
  const items = terms === undefined ? [] : itemsOf(terms);
  if (items.length < 2) return {};
  return {
    items: items.map(({ kind, amount, priceSun, credits }) => ({
      kind,
      amount: toJsonInteger(amount),
      price_sun: toJsonInteger(priceSun),
      credits: toJsonInteger(credits),
    })),
  };
}

/** The answer to a quote; members that do not apply are absent, never null. */
export interface QuoteBody extends FeeLimitMembers {
  readonly ref: string;
  readonly receive_address: string;
  readonly energy: number;
  readonly bandwidth?: number;
  readonly duration_sec: number;
  readonly expected_uses?: number;
  readonly price_sun: number;
  readonly price_trx: string;
  readonly price_usd?: string;
  readonly credits: number;
  readonly trx_usd?: string;
  readonly items?: readonly ItemBody[];
  readonly price_per_use_sun?: number;
  readonly recipient_state: RecipientState;
  readonly needs_activation?: true;
  readonly burn_price_sun: number;
  readonly burn_price_trx: string;
  readonly burn_price_usd?: string;
  readonly burn_price_credits: number;
  readonly saving_trx: string;
  readonly saving_usd?: string;
  readonly saving_credits: number;
  readonly expires_at: string;
  readonly expires_in_sec: number;
}

/** Renders a quote. Each saving is the difference of the two figures shown, in each unit (docs/interface.md §5). */
export function quoteBody({ ref, rental, expiresAtMs, holdSec }: IssuedQuote): QuoteBody {
  const { priceSun, burnPriceSun, expectedUses, rate, rateFresh } = rental;
  const priceMicros = usdMicros(priceSun, rate);
  const burnMicros = usdMicros(burnPriceSun, rate);
  return {
    ref,
    receive_address: rental.receiveAddress,
    energy: toJsonInteger(rental.energy),
    ...(rental.bandwidth !== undefined && { bandwidth: toJsonInteger(rental.bandwidth.units) }),
    duration_sec: rental.durationSec,
    ...(expectedUses !== undefined && { expected_uses: expectedUses }),
    price_sun: toJsonInteger(priceSun),
    price_trx: trxOf(priceSun),
    ...(rateFresh && { price_usd: decimal(priceMicros, 6) }),
    credits: toJsonInteger(rental.credits),
    ...(rateFresh && { trx_usd: rateText(rate) }),
    ...itemsMember(rental),
    ...(expectedUses !== undefined && { price_per_use_sun: pricePerUse(priceSun, expectedUses) }),
    ...feeLimitMembers(rental),
    recipient_state: rental.recipientState,
    ...(rental.needsActivation && { needs_activation: true as const }),
    burn_price_sun: toJsonInteger(burnPriceSun),
    burn_price_trx: trxOf(burnPriceSun),
    ...(rateFresh && { burn_price_usd: decimal(burnMicros, 6) }),
    burn_price_credits: toJsonInteger(rental.burnPriceCredits),
    saving_trx: trxOf(burnPriceSun - priceSun),
    ...(rateFresh && { saving_usd: decimal(burnMicros - priceMicros, 6) }),
    saving_credits: toJsonInteger(rental.burnPriceCredits - rental.credits),
    expires_at: new Date(expiresAtMs).toISOString(),
    expires_in_sec: holdSec,
  };
}
