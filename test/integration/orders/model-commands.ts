// Commands of the model-based test. Each runs on the model and on the service and compares the outcomes.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { BillingTerms } from '../../../src/modules/billing/ledger.js';
import { ApiError } from '../../../src/domain/errors.js';
import { credits, energy } from '../../../src/domain/units.js';
import type { ProjectRecord } from '../../../src/platform/http/pipeline/request-context.js';
import { NO_LABELS } from '../../../src/modules/orders/order-labels.js';
import { requestedRental, type OrderRequest } from '../../../src/modules/orders/orders.dto.js';
import type { OrderAnswers } from '../../../src/modules/orders/order-answers.js';
import type { OrdersService } from '../../../src/modules/orders/orders.service.js';
import type { QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { AUTHOR, type TestApi } from '../../support/api/factory.js';
import type { Charge, Model, ModelQuote, Outcome, Taken } from './model.js';
import { refundOrder } from '../../support/api/order-fixture.js';

/** The service as one project sees it. */
export interface Real {
  readonly api: TestApi;
  readonly orders: OrdersService;
  readonly orderAnswers: OrderAnswers;
  readonly quotes: QuotesService;
  readonly projectId: string;
  readonly receiver: string;
  /** Sun that the pool delegates for an energy, and for units of bandwidth beside it. */
  readonly takenBy: (amount: bigint, bandwidth: bigint) => Taken;
  readonly seal: (quote: ModelQuote) => string;
  /** Refs of the model's quotes, by index. */
  readonly refs: string[];
}

type Command = fc.AsyncCommand<Model, Real>;

const ENERGIES = [65_000n, 131_000n, 1_000_000n];
/** A third of the pool, so that it can sell out. */
const GIANT_ENERGY = 55_000_000_000n;
const BANDWIDTHS = [0n, 0n, 10_000n];
/** As much of the pool's bandwidth. */
const GIANT_BANDWIDTH = 14_000_000_000n;
const SUN_PER_ENERGY = 45n;
const SUN_PER_BANDWIDTH = 700n;
const RATE_CREDITS = 3n; // 0.30 dollars per TRX: 3 credits per sun
const UNIT = 8_775_000n;

const creditsFor = (amount: bigint, bandwidth: bigint): bigint =>
  (amount * SUN_PER_ENERGY + bandwidth * SUN_PER_BANDWIDTH) * RATE_CREDITS;
const directRequest = (real: Real, amount: bigint, bandwidth: bigint): OrderRequest => ({
  receive_address: real.receiver,
  energy: Number(amount),
  ...(bandwidth > 0n && { bandwidth: Number(bandwidth) }),
});
const directText = (amount: bigint, bandwidth: bigint): string => `direct ${amount.toString()} ${bandwidth.toString()}`;

async function outcomeOf(work: () => Promise<{ isReplay: boolean }>): Promise<Outcome> {
  try {
    return (await work()).isReplay ? 'replayed' : 'created';
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

async function place(real: Real, request: OrderRequest, key: string | undefined): Promise<Outcome> {
  const project: ProjectRecord = {
    id: real.projectId,
    isFrozen: false,
    isTest: false,
    signatureSchemes: 'either',
    requireIdempotencyKey: false,
    requireQuote: false,
    allowedSources: [],
  };
  return outcomeOf(() =>
    real.orders.create(requestedRental(request), {
      project,
      apiKeyId: real.projectId,
      key: { value: key ?? randomUUID(), isGiven: key !== undefined },
      requestId: randomUUID(),
      labels: NO_LABELS,
    }),
  );
}

function same(what: string, expected: unknown, actual: unknown): void {
  if (expected !== actual)
    throw new Error(`${what}: the model says ${String(expected)}, the service ${String(actual)}`);
}

/** Runs one step, then compares the balance with the model's. */
function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    toString: () => name,
    run: async (model, real) => {
      await run(model, real);
      const balance = await real.api.ledger.balanceOf(real.projectId);
      same(`${name}, balance`, model.balance, balance?.balanceCredits);
    },
  };
}

function book(kind: 'topUp' | 'adjust', slot: number, amount: bigint): Command {
  return command(`${kind}(${slot.toString()}, ${amount.toString()})`, async (model, real) => {
    const reference = `${real.projectId}-${slot.toString()}`;
    const actual = await outcomeOf(async () => {
      const { isNew } = await real.api.ledger[kind](real.projectId, credits(amount), reference, AUTHOR);
      return { isReplay: !isNew };
    });
    same('booking', model.book(`${kind}:${reference}`, amount), actual);
  });
}

function setTerms(floor: bigint | null): Command {
  return command(`setTerms(${String(floor)})`, async (model, real) => {
    const terms: BillingTerms =
      floor === 0n
        ? { kind: 'prepaid' }
        : { kind: 'postpaid', debtLimitCredits: floor === null ? undefined : credits(-floor) };
    await real.api.ledger.setTerms(real.projectId, terms, AUTHOR);
    model.floor = floor;
  });
}

function setFrozen(isFrozen: boolean): Command {
  return command(`setFrozen(${String(isFrozen)})`, async (model, real) => {
    await real.api.ledger.setFrozen(real.projectId, isFrozen, AUTHOR);
    model.isFrozen = isFrozen;
  });
}

function setCap(cap: bigint | null): Command {
  return command(`setCap(${String(cap)})`, async (model, real) => {
    await real.api.ledger.setDailyCap(real.projectId, cap === null ? undefined : credits(cap), AUTHOR);
    model.cap = cap;
  });
}

/** Ordinary quotes come from the service. Expired and giant quotes are sealed here. */
function quote(amount: bigint, bandwidth: bigint, isExpired: boolean): Command {
  return command(`quote(${amount.toString()}, ${bandwidth.toString()}, ${String(isExpired)})`, async (model, real) => {
    const priced = { energy: amount, bandwidth, credits: creditsFor(amount, bandwidth) };
    const isGiant = amount === GIANT_ENERGY || bandwidth === GIANT_BANDWIDTH;
    if (isExpired || isGiant) {
      // A giant quote costs as little as an ordinary one, so that capacity limits it instead of credits.
      const made = { id: randomUUID(), isExpired, ...priced, ...(isGiant && { credits: UNIT }) };
      model.quotes.push(made);
      real.refs.push(real.seal(made));
      return;
    }
    const rental = await real.quotes.quote({
      receiveAddress: real.receiver,
      energy: energy(amount),
      bandwidth: bandwidth === 0n ? undefined : bandwidth,
      isTest: false,
    });
    same('quoted credits', priced.credits, rental.credits);
    const issued = real.quotes.issue(real.projectId, rental);
    const opened = real.quotes.openQuote(issued.ref, real.projectId);
    model.quotes.push({ id: opened!.id, isExpired: false, ...priced });
    real.refs.push(issued.ref);
  });
}

function direct(key: string, amount: bigint, bandwidth: bigint, isKeyless: boolean): Command {
  const text = directText(amount, bandwidth);
  return command(`${text} (${isKeyless ? 'no key' : key})`, async (model, real) => {
    const charge = { credits: creditsFor(amount, bandwidth), taken: real.takenBy(amount, bandwidth) };
    const expected = model.order(isKeyless ? randomUUID() : key, text, charge);
    const request = directRequest(real, amount, bandwidth);
    same('order', expected, await place(real, request, isKeyless ? undefined : key));
  });
}

type Twist = 'none' | 'mismatch' | 'forged';

function redeem(key: string, index: number, twist: Twist): Command {
  return command(`redeem(${key}, ${index.toString()}, ${twist})`, async (model, real) => {
    if (model.quotes.length === 0) return;
    const at = index % model.quotes.length;
    const held = model.quotes[at]!;
    const ref = `${real.refs[at]!}${twist === 'forged' ? 'AAAA' : ''}`;
    const refusal = { none: undefined, mismatch: 'QUOTE_MISMATCH', forged: 'QUOTE_NOT_FOUND' }[twist];
    const charge: Charge = {
      credits: held.credits,
      taken: real.takenBy(held.energy, held.bandwidth),
      refusal,
      quote: twist === 'forged' ? undefined : held,
    };
    const request = { quote_ref: ref, ...(twist === 'mismatch' && { duration_sec: 600 }) };
    same('order', model.order(key, `quoted ${ref}`, charge), await place(real, request, key));
  });
}

/** Sends the same request several times concurrently. They must create one order. */
function burst(key: string, amount: bigint, bandwidth: bigint): Command {
  const text = directText(amount, bandwidth);
  return command(`burst of ${text} (${key})`, async (model, real) => {
    const charge = { credits: creditsFor(amount, bandwidth), taken: real.takenBy(amount, bandwidth) };
    const request = directRequest(real, amount, bandwidth);
    const expected = model.order(key, text, charge);
    const outcomes = await Promise.all([1, 2, 3, 4].map(async () => place(real, request, key)));
    const wanted = expected === 'created' ? ['created', 'replayed', 'replayed', 'replayed'] : Array(4).fill(expected);
    same('burst', wanted.join(), outcomes.toSorted().join());
  });
}

export async function refundKnown(model: Model, real: Real, key: string): Promise<void> {
  if (!model.orders.has(key)) return;
  await refundOrder(real.api, real.projectId, key);
  model.refund(key);
}

function refund(key: string): Command {
  return command(`refund(${key})`, async (model, real) => refundKnown(model, real, key));
}

function read(key: string): Command {
  return command(`read(${key})`, async (model, real) => {
    const found = await real.orderAnswers.find(real.projectId, key);
    const known = model.orders.get(key);
    same('status', known === undefined ? undefined : known.isRefunded ? 'refunded' : 'reserved', found?.status);
    same('credits', known?.credits, found === undefined ? undefined : BigInt(found.credits));
  });
}

/** Returns all commands with their arguments. Few keys, references and amounts make collisions likely. */
export function commands(maxCommands: number) {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const amount = fc.constantFrom(...ENERGIES);
  const bandwidth = fc.constantFrom(...BANDWIDTHS);
  const slot = fc.nat(5);
  return fc.commands(
    [
      fc.tuple(slot, fc.constantFrom(UNIT, UNIT * 3n, UNIT * 20n)).map(([at, by]) => book('topUp', at, by)),
      fc.tuple(slot, fc.constantFrom(UNIT, -UNIT, -UNIT * 4n)).map(([at, by]) => book('adjust', at, by)),
      fc.constantFrom(0n, -UNIT * 2n, null).map(setTerms),
      fc.constantFrom(false, false, true).map(setFrozen),
      fc.constantFrom(null, null, UNIT * 3n).map(setCap),
      fc
        .tuple(
          fc.constantFrom(...ENERGIES, GIANT_ENERGY),
          fc.constantFrom(...BANDWIDTHS, GIANT_BANDWIDTH),
          fc.constantFrom(false, false, true),
        )
        .map((q) => quote(...q)),
      fc.tuple(key, amount, bandwidth, fc.constantFrom(false, false, true)).map((o) => direct(...o)),
      fc.tuple(key, fc.nat(9), fc.constantFrom<Twist>('none', 'none', 'mismatch', 'forged')).map((o) => redeem(...o)),
      fc.tuple(key, amount, bandwidth).map((o) => burst(...o)),
      key.map(refund),
      key.map(read),
    ],
    { maxCommands, size: 'max' },
  );
}
