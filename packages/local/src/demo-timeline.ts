/**
 * The plan of the demo's past with prices, wallets, times and payments: as the service would have sold it, by the price
 * table and the pool's stake. Pure. Times on chain are whole blocks', 3 s apart.
 */
import { creditsOf } from '../../../src/domain/conversion.js';
import { rowFor, type PriceRow } from '../../../src/domain/price.js';
import { divCeil, sun, type Credits, type RateE8, type Sun } from '../../../src/domain/units.js';
import { DAY_MS, PROFILES, type PlannedOrder } from './demo-plan.js';
import { Seeded } from './seeded.js';

const BLOCK_MS = 3000;
const MINUTE_MS = 60_000;
/** A transaction is valid for so long. */
export const VALID_MS = 60_000;
/** Until a block is solid: 19 blocks, and a moment. */
export const SOLID_MS = 57_600;
const PLAYED_MS = 3200;
/** What one activation burns, and what is asked for it. */
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
  /** Of each pool wallet. */
  readonly stakesSun: readonly bigint[];
  /** Dollars for a TRX at the end, times 10^8. */
  readonly rateE8: bigint;
}

export interface PastOrder extends PlannedOrder {
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rateE8: RateE8;
  /** Place among the pool wallets; undefined where the wallet for activations did it, or nobody. */
  readonly wallet: number | undefined;
  readonly amountSun: bigint;
  readonly deliveredEnergy: bigint | undefined;
  /** Undefined where it was refunded. */
  readonly deliveredMs: number | undefined;
  /** Undefined of an activation. */
  readonly endsMs: number | undefined;
  readonly reclaimedMs: number | undefined;
  readonly refundedMs: number | undefined;
}

/** What was paid in: by the operator's word, or on chain. */
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

/** Orders that the pool had no stake for are left out, as they were refused. */
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

/** A payment on chain half an hour before the order that would have gone too low. */
function paidBefore({ project, createdMs }: PlannedOrder, rates: Rates, random: Seeded): PastPayment {
  const { topUpUsd: usual = 0, paysIn } = PROFILES[project] ?? {};
  const topUpUsd = Math.round((usual * random.between(0.8, 1.7)) / 10) * 10;
  const paidMs = slotAfter(createdMs - 27 * MINUTE_MS);
  const rateE8 = paysIn === 'TRX' ? rates.at(paidMs) : USDT_RATE;
  // Of TRX a round amount worth about as much.
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

/** As the service sizes a delegation: rounded up, and a margin for each day. */
function sunFor(energy: bigint, durationSec: number, { energyLimit, energyWeight }: SaleTerms): bigint {
  const exact = divCeil((energy + 1n) * SUN_PER_TRX * energyWeight, energyLimit);
  const days = BigInt(Math.max(1, Math.ceil(durationSec / 86_400)));
  return divCeil(exact * (10_000n + MARGIN_BPS * days), 10_000n);
}

/** What a TRX cost, by day: a walk that ends where the service's own rate is. */
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

/** How much of each wallet's stake is out, and until when. */
class Stakes {
  private readonly out: { readonly wallet: number; readonly amountSun: bigint; readonly untilMs: number }[][];

  constructor(private readonly stakesSun: readonly bigint[]) {
    this.out = stakesSun.map(() => []);
  }

  /** The wallet with the least free stake that holds it all, as the service chooses; undefined where none does. */
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
