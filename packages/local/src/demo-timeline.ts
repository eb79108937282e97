/**
 * The demo's planned orders with prices, wallets, times and payments, as the service would have sold them by its price
 * table and the pool's stake. Pure. Chain times are whole block times, 3 s apart.
 */
import { creditsOf } from '../../../src/domain/conversion.js';
import { rowFor, type PriceRow } from '../../../src/domain/price.js';
import { divCeil, sun, type Credits, type RateE8, type Sun } from '../../../src/domain/units.js';
import { DAY_MS, PROFILES, type PlannedOrder } from './demo-plan.js';
import { Seeded } from './seeded.js';

const BLOCK_MS = 3000;
const MINUTE_MS = 60_000;
/** Validity of a transaction. */
export const VALID_MS = 60_000;
/** Time until a block is solid: 19 blocks, plus a short delay. */
export const SOLID_MS = 57_600;
const PLAYED_MS = 3200;
/** Cost and price of one activation. */
const ACTIVATION_COST = sun(1_100_000);
const ACTIVATION_PRICE = sun(1_400_000);
const MARGIN_BPS = 20n;
const LOW_SHARE = 0.2;
const SUN_PER_TRX = 1_000_000n;
const USDT_RATE = 100_000_000n as RateE8;

export interface SaleTerms {
  readonly energyLimit: bigint;
  readonly energyWeight: bigint;
  readonly prices: readonly PriceRow[];
  /** One per pool wallet. */
  readonly stakesSun: readonly bigint[];
  /** Dollars per TRX at the end, times 10^8. */
  readonly rateE8: bigint;
}

export interface PastOrder extends PlannedOrder {
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rateE8: RateE8;
  /** Index of the pool wallet; undefined for activations and for a test project's orders. */
  readonly wallet: number | undefined;
  readonly amountSun: bigint;
  readonly deliveredEnergy: bigint | undefined;
  /** Undefined for a refunded order. */
  readonly deliveredMs: number | undefined;
  /** Undefined for an activation. */
  readonly endsMs: number | undefined;
  readonly reclaimedMs: number | undefined;
  readonly refundedMs: number | undefined;
}

/** A payment: booked by the operator, or on chain. */
export interface PastPayment {
  readonly project: number;
  readonly enteredMs: number;
  readonly credits: bigint;
  readonly onChain: { readonly paidMs: number; readonly amount: bigint; readonly rateE8: RateE8 } | undefined;
}

export interface Timeline {
  readonly orders: readonly PastOrder[];
  readonly payments: readonly PastPayment[];
}

export const slotAfter = (ms: number): number => Math.ceil(ms / BLOCK_MS) * BLOCK_MS;

/**
 * Adds terms to the planned orders. Leaves out orders without free stake, since the service would have refused them.
 */
export function timelineOf(
  planned: readonly PlannedOrder[],
  terms: SaleTerms,
  { seed, startMs, endMs }: { readonly seed: number; readonly startMs: number; readonly endMs: number },
): Timeline {
  const rates = new Rates(seed, endMs, terms.rateE8);
  const pool = new Stakes(terms.stakesSun);
  const payments = PROFILES.map((profile, project) => opening(project, profile.topUpUsd, startMs));
  const balances = payments.map(({ credits }) => credits);
  const orders: PastOrder[] = [];
  const random = new Seeded(seed + 3);
  for (const order of planned) {
    const sold = soldAs(order, terms, rates, pool);
    if (sold === undefined) continue;
    const low = usd((PROFILES[order.project]?.topUpUsd ?? 0) * LOW_SHARE);
    if ((balances[order.project] ?? 0n) - sold.credits < low && PROFILES[order.project]?.isTest === false) {
      const payment = paidBefore(order, rates, random);
      payments.push(payment);
      balances[order.project] = (balances[order.project] ?? 0n) + payment.credits;
    }
    balances[order.project] = (balances[order.project] ?? 0n) - sold.credits;
    orders.push(sold);
  }
  return { orders, payments };
}

const usd = (dollars: number): bigint => BigInt(Math.round(dollars)) * 10_000_000n;

const opening = (project: number, dollars: number, startMs: number): PastPayment => ({
  project,
  enteredMs: startMs + (20 + project * 7) * MINUTE_MS + 1234,
  credits: usd(dollars),
  onChain: undefined,
});

/** Plans a payment on chain about half an hour before the order that would bring the balance too low. */
function paidBefore({ project, createdMs }: PlannedOrder, rates: Rates, random: Seeded): PastPayment {
  const { topUpUsd: usual = 0, paysIn } = PROFILES[project] ?? {};
  const topUpUsd = Math.round((usual * random.between(0.8, 1.7)) / 10) * 10;
  const paidMs = slotAfter(createdMs - 27 * MINUTE_MS);
  const rateE8 = paysIn === 'TRX' ? rates.at(paidMs) : USDT_RATE;
  // For TRX: a round amount of about the same value.
  const whole = paysIn === 'TRX' ? (BigInt(topUpUsd) * 100_000_000n) / rateE8 / 50n + 1n : BigInt(topUpUsd);
  const amount = whole * (paysIn === 'TRX' ? 50n : 1n) * 1_000_000n;
  const credits = (amount * rateE8) / 10_000_000n;
  return { project, enteredMs: paidMs + SOLID_MS + 1900, credits, onChain: { paidMs, amount, rateE8 } };
}

function soldAs(order: PlannedOrder, terms: SaleTerms, rates: Rates, pool: Stakes): PastOrder | undefined {
  const { energy, durationSec, createdMs, isRefunded, waitMs, lateMs, project } = order;
  const isTest = PROFILES[project]?.isTest === true;
  const rateE8 = rates.at(createdMs);
  const priceSun =
    energy === undefined
      ? ACTIVATION_PRICE
      : sun(BigInt(energy) * (rowFor(terms.prices, durationSec)?.sunPerEnergy ?? 0n));
  const sold = { ...order, priceSun, rateE8, credits: creditsOf(priceSun, rateE8) };
  const arrivesMs = isTest ? createdMs + PLAYED_MS : slotAfter(createdMs + waitMs);
  const refundedMs = isTest ? arrivesMs : createdMs + VALID_MS + SOLID_MS + 4300;
  const endsMs = energy === undefined ? undefined : arrivesMs + durationSec * 1000;
  const reclaimedMs = endsMs === undefined || isTest ? endsMs : slotAfter(endsMs + lateMs);
  const times = isRefunded
    ? { deliveredMs: undefined, endsMs: undefined, reclaimedMs: undefined, refundedMs }
    : { deliveredMs: arrivesMs, endsMs, reclaimedMs, refundedMs: undefined };
  const none = { wallet: undefined, amountSun: 0n, deliveredEnergy: undefined };
  if (energy === undefined) return { ...sold, ...times, ...none, amountSun: ACTIVATION_COST };
  if (isTest) return { ...sold, ...times, ...none, deliveredEnergy: isRefunded ? undefined : BigInt(energy) };
  const amountSun = sunFor(BigInt(energy), durationSec, terms);
  const wallet = pool.take(amountSun, createdMs, times.reclaimedMs ?? refundedMs);
  if (wallet === undefined) return undefined;
  const held = (amountSun * terms.energyLimit) / (SUN_PER_TRX * terms.energyWeight);
  return { ...sold, ...times, wallet, amountSun, deliveredEnergy: isRefunded ? undefined : held };
}

/** Sizes a delegation as the service does: a margin for each day, rounded up to whole TRX. */
function sunFor(energy: bigint, durationSec: number, { energyLimit, energyWeight }: SaleTerms): bigint {
  const exact = divCeil((energy + 1n) * SUN_PER_TRX * energyWeight, energyLimit);
  const days = BigInt(Math.max(1, Math.ceil(durationSec / 86_400)));
  return divCeil(exact * (10_000n + MARGIN_BPS * days), 10_000n * SUN_PER_TRX) * SUN_PER_TRX;
}

/** The TRX rate by day: a random walk that ends at the service's current rate. */
class Rates {
  private readonly factors: number[] = [];

  constructor(
    seed: number,
    private readonly endMs: number,
    private readonly lastE8: bigint,
  ) {
    const random = new Seeded(seed + 1);
    for (let day = 0, factor = 1; day < 40; day += 1, factor *= 1 + random.between(-0.014, 0.0145))
      this.factors.push(factor);
  }

  at(ms: number): RateE8 {
    const factor = this.factors[Math.floor((this.endMs - ms) / DAY_MS)] ?? 1;
    return ((this.lastE8 * BigInt(Math.round(factor * 1e6))) / 1_000_000n) as RateE8;
  }
}

/** The delegated stake of each wallet, with its end times. */
class Stakes {
  private readonly out: { readonly wallet: number; readonly amountSun: bigint; readonly untilMs: number }[][];

  constructor(private readonly stakesSun: readonly bigint[]) {
    this.out = stakesSun.map(() => []);
  }

  /**
   * Reserves stake at the wallet with the least sufficient free stake, as the service does. Returns its index, or
   * undefined if none has enough.
   */
  take(amountSun: bigint, atMs: number, untilMs: number): number | undefined {
    let chosen: { readonly wallet: number; readonly free: bigint } | undefined;
    for (const [wallet, stake] of this.stakesSun.entries()) {
      this.out[wallet] = (this.out[wallet] ?? []).filter((each) => each.untilMs > atMs);
      const free = stake - (this.out[wallet] ?? []).reduce((sum, each) => sum + each.amountSun, 0n);
      if (free >= amountSun && (chosen === undefined || free < chosen.free)) chosen = { wallet, free };
    }
    if (chosen === undefined) return undefined;
    this.out[chosen.wallet]?.push({ wallet: chosen.wallet, amountSun, untilMs });
    return chosen.wallet;
  }
}
