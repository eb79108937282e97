/** Calls the database function `take_order`, which charges, reserves and records an order, or leaves nothing behind. */
import { monotonicMs } from '../../platform/support/clock.js';
import { invariant } from '../../domain/errors.js';
import { credits, energy, rateE8, sun } from '../../domain/units.js';
import type { Database } from '../../platform/database/database.js';
import { argumentList, FunctionCall, type ArgumentsOf } from '../../platform/database/function-call.js';
import type { OrderTerms, PricedOrder, Purchase } from './purchase.js';

/** The database's answer. A refusal may also be raised as an error. */
export interface AcceptRow {
  /** The code of the refusal. All other members are then absent. */
  readonly refusal: string | null;
  readonly created: boolean;
  readonly order_id: bigint;
  readonly order_created_at: Date;
  readonly same_request: boolean;
}

export interface AcceptRequest {
  readonly purchase: Purchase;
  readonly priced: PricedOrder;
  /** Limit of the statement's wait for each lock held by others, in ms. */
  readonly lockWaitMs: number;
}

/**
 * Placeholder terms of an order that cannot be priced. They satisfy the row's columns; the same statement undoes the
 * row.
 */
const NO_TERMS: OrderTerms = {
  receiveAddress: '',
  energy: energy(1),
  durationSec: 1,
  priceSun: sun(1),
  credits: credits(1),
  rate: rateE8(1),
  amountSun: sun(1),
  legSlackSun: sun(1),
  legsMax: 1n,
};

interface PricedRequest extends AcceptRequest {
  readonly terms: OrderTerms;
}

/** The function's arguments by name. */
const ARGUMENTS: ArgumentsOf<PricedRequest> = {
  p_project: ({ purchase }) => purchase.project.id,
  p_api_key: ({ purchase }) => purchase.apiKeyId,
  p_key: ({ purchase }) => purchase.key.value,
  p_hash: ({ purchase }) => purchase.hash,
  p_kind: ({ purchase }) => purchase.kind,
  p_quote: ({ terms }) => terms.quote?.id ?? null,
  p_quote_expires: ({ purchase, terms: { quote } }) =>
    quote === undefined ? null : quoteExpiryNow(quote, purchase).toISOString(),
  p_receiver: ({ terms }) => terms.receiveAddress,
  p_energy: ({ purchase, terms }) => (purchase.kind === 'rental' ? (terms.energy ?? NO_TERMS.energy) : null),
  p_duration: ({ purchase, terms }) =>
    purchase.kind === 'rental' ? (terms.durationSec ?? NO_TERMS.durationSec) : null,
  p_expected_uses: ({ terms }) => terms.expectedUses ?? null,
  p_transfer: ({ terms: { transfer } }) => (transfer === undefined ? null : transferJson(transfer)),
  p_energy_fee: ({ purchase, terms }) => (purchase.kind === 'rental' ? (terms.energyFeeSun ?? null) : null),
  p_bandwidth: ({ terms }) => terms.bandwidth?.units ?? null,
  p_bandwidth_price: ({ terms }) => terms.bandwidth?.priceSun ?? null,
  p_bandwidth_credits: ({ terms }) => terms.bandwidth?.credits ?? null,
  p_bandwidth_amount: ({ terms }) => terms.bandwidth?.amountSun ?? null,
  p_bandwidth_slack: ({ terms }) => terms.bandwidth?.legSlackSun ?? null,
  p_bandwidth_legs: ({ terms }) => terms.bandwidth?.legsMax ?? null,
  p_activation_price: ({ terms }) => terms.activation?.priceSun ?? null,
  p_activation_credits: ({ terms }) => terms.activation?.credits ?? null,
  p_activation_amount: ({ terms }) => terms.activation?.amountSun ?? null,
  p_max_fee_limit: ({ purchase, terms }) => (purchase.kind === 'rental' ? (terms.maxFeeLimitSun ?? null) : null),
  p_price: ({ terms }) => terms.priceSun,
  p_credits: ({ terms }) => terms.credits,
  p_rate: ({ terms }) => terms.rate,
  p_amount: ({ terms }) => terms.amountSun,
  p_leg_slack: ({ terms }) => terms.legSlackSun,
  p_refusal: ({ priced }) => priced.refusal?.code ?? null,
  p_request_id: ({ purchase }) => purchase.madeBy,
  p_legs_max: ({ terms }) => terms.legsMax,
  p_lock_ms: ({ lockWaitMs }) => lockWaitMs,
  p_reference: ({ purchase }) => purchase.labels.reference ?? null,
  p_metadata: ({ purchase: { labels } }) => (labels.metadata === undefined ? null : JSON.stringify(labels.metadata)),
};

const transferJson = ({ to, amount, token }: NonNullable<OrderTerms['transfer']>): string =>
  JSON.stringify({ to, amount: amount.toString(), token });

/** Returns the expiry plus the time that the order waited in this process: a quote sent in time stays valid. */
function quoteExpiryNow({ expiresAtMs }: NonNullable<OrderTerms['quote']>, { askedMs }: Purchase): Date {
  return new Date(expiresAtMs + Math.ceil(monotonicMs() - askedMs));
}

const NAMED = argumentList(ARGUMENTS);

const ACCEPT = new FunctionCall<PricedRequest, AcceptRow>(
  {
    name: 'accept-order',
    text: `SELECT refusal, created, order_id, order_created_at, same_request FROM take_order(${NAMED})`,
  },
  ARGUMENTS,
);

/** Runs the statement once. Throws the database's errors, and DeadlineError if no answer arrives in time. */
export async function acceptOrder(database: Database, request: AcceptRequest): Promise<AcceptRow> {
  const { terms, refusal } = request.priced;
  invariant(terms !== undefined || refusal !== undefined, 'what cannot be charged is refused');
  return ACCEPT.run(database, { ...request, terms: terms ?? NO_TERMS });
}
