/** Calls of the database functions that buy and extend for the owner of a session. */
import { withDeadline } from '../../platform/support/clock.js';
import { invariant } from '../../domain/errors.js';
import type { Database } from '../../platform/database/database.js';
import type { OrderTerms } from '../orders/purchase.js';
import type { PricedTime } from '../quotes/direct-price.js';

/** The terms, or the code of a refusal. The database answers a replay even if a refusal is given. */
type Judged<Terms> = { readonly terms: Terms } | { readonly refusal: string };

interface Call<Terms> {
  readonly sessionId: string;
  readonly key: string;
  readonly hash: Buffer;
  /** Stored with the order or extension. */
  readonly madeBy: string;
  readonly lockWaitMs: number;
  readonly judged: Judged<Terms>;
}

/** The function's answer. All other members are null if `refusal` is set. */
export interface MadePurchase {
  /** The code of a refusal; others are raised. */
  readonly refusal: string | null;
  readonly created: boolean;
  readonly same_request: boolean;
}

interface ExtensionTerms extends PricedTime {
  readonly durationSec: number;
  readonly expectedUses: number | undefined;
  readonly headAt: Date;
}

/** Longest wait for one statement, in ms. It exceeds the statement's own limits, in case the connection went silent. */
const STATEMENT_LIMIT_MS = 13_000;

const BUY = {
  name: 'buy_in_console',
  text: `SELECT refusal, created, same_request FROM buy_in_console(p_session => $1, p_key => $2, p_hash => $3,
    p_request_id => $4, p_lock_ms => $5, p_refusal => $6, p_receiver => $7, p_energy => $8, p_duration => $9,
    p_price => $10, p_credits => $11, p_rate => $12, p_amount => $13, p_leg_slack => $14, p_legs_max => $15,
    p_expected_uses => $16, p_energy_fee => $17, p_max_fee_limit => $18, p_bandwidth => $19,
    p_bandwidth_price => $20, p_bandwidth_credits => $21, p_bandwidth_amount => $22, p_bandwidth_slack => $23,
    p_bandwidth_legs => $24, p_activation_price => $25, p_activation_credits => $26, p_activation_amount => $27)`,
};

const EXTEND = {
  name: 'extend_in_console',
  text: `SELECT NULL AS refusal, created, same_request FROM extend_in_console(p_session => $1, p_key => $2,
    p_hash => $3, p_request_id => $4, p_lock_ms => $5, p_refusal => $6, p_order => $7, p_duration => $8,
    p_price => $9, p_credits => $10, p_rate => $11, p_head => $12, p_longest => $13, p_expected_uses => $14,
    p_fee_limit => $15, p_fee_limit_capped => $16)`,
};

/** Placeholders for the terms of a refused purchase. */
const NO_FURTHER_PARTS = Array.from({ length: 9 }, () => null);
const NO_ORDER = ['', 1, 1, 1, 1, 1, 1, 1, 1, null, null, null, ...NO_FURTHER_PARTS];
const NO_TIME = [1, 1, 1, 1, null, 1, null, null, null];

/** Runs the statement once. Throws the database's errors, and DeadlineError if no answer arrives in time. */
export async function buyInConsole(database: Database, call: Call<OrderTerms>): Promise<MadePurchase> {
  const { judged } = call;
  return run(database, BUY, [...callOf(call), ...('terms' in judged ? orderOf(judged.terms) : NO_ORDER)]);
}

/** Throws as `buyInConsole`. */
export async function extendInConsole(
  database: Database,
  orderId: bigint,
  call: Call<ExtensionTerms>,
): Promise<MadePurchase> {
  const { judged } = call;
  return run(database, EXTEND, [...callOf(call), orderId, ...('terms' in judged ? timeOf(judged.terms) : NO_TIME)]);
}

async function run(database: Database, statement: typeof BUY, values: readonly unknown[]): Promise<MadePurchase> {
  const answer = database.query<MadePurchase>(statement, [...values]);
  const [row] = await withDeadline(answer, STATEMENT_LIMIT_MS, 'a purchase in the console');
  invariant(row !== undefined, 'a purchase answers one row');
  return row;
}

function callOf({ sessionId, key, hash, madeBy, lockWaitMs, judged }: Call<unknown>): readonly unknown[] {
  return [sessionId, key, hash, madeBy, lockWaitMs, 'refusal' in judged ? judged.refusal : null];
}

function orderOf(terms: OrderTerms): readonly unknown[] {
  return [
    ...[terms.receiveAddress, terms.energy, terms.durationSec, terms.priceSun, terms.credits, terms.rate],
    ...[terms.amountSun, terms.legSlackSun, terms.legsMax, terms.expectedUses ?? null, terms.energyFeeSun ?? null],
    terms.maxFeeLimitSun ?? null,
    ...furtherPartsOf(terms),
  ];
}

function furtherPartsOf({ bandwidth, activation }: OrderTerms): readonly unknown[] {
  return [
    ...[bandwidth?.units, bandwidth?.priceSun, bandwidth?.credits],
    ...[bandwidth?.amountSun, bandwidth?.legSlackSun, bandwidth?.legsMax],
    ...[activation?.priceSun, activation?.credits, activation?.amountSun],
  ].map((value) => value ?? null);
}

function timeOf(terms: ExtensionTerms): readonly unknown[] {
  return [
    ...[terms.durationSec, terms.priceSun, terms.credits, terms.rate, terms.headAt, terms.longestSec],
    ...[terms.expectedUses ?? null, terms.feeLimitSun, terms.isFeeLimitCapped],
  ];
}
