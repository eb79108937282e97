// A minimal model of one project's ledger, quotes and orders. It knows no statements, locks or processes. The service
// must agree with it after every command.

export type Outcome = 'created' | 'replayed' | (string & {});

export interface ModelQuote {
  readonly id: string;
  readonly isExpired: boolean;
  readonly energy: bigint;
  /** Units beside the energy; 0 for none. */
  readonly bandwidth: bigint;
  readonly credits: bigint;
}

/** Capacity that an order takes, in sun. */
export interface Taken {
  readonly energySun: bigint;
  readonly bandwidthSun: bigint;
}

interface ModelOrder {
  readonly request: string;
  readonly credits: bigint;
  readonly taken: Taken;
  isRefunded: boolean;
}

export interface Charge {
  readonly credits: bigint;
  readonly taken: Taken;
  /** A refusal that the caller already knows. */
  readonly refusal?: string | undefined;
  readonly quote?: ModelQuote | undefined;
}

export class Model {
  balance = 0n;
  /** The lowest balance that a charge may leave; null allows any. */
  floor: bigint | null = 0n;
  isFrozen = false;
  cap: bigint | null = null;
  spentToday = 0n;
  entries = 0;
  readonly references = new Map<string, bigint>();
  readonly orders = new Map<string, ModelOrder>();
  readonly quotes: ModelQuote[] = [];
  private readonly used = new Set<string>();

  constructor(public free: Taken) {}

  /** Books a top-up or an adjustment. */
  book(reference: string, amount: bigint): Outcome {
    const booked = this.references.get(reference);
    if (booked !== undefined) return booked === amount ? 'replayed' : 'INVALID_REQUEST';
    if (amount < 0n && this.floor !== null && this.balance + amount < this.floor) return 'INSUFFICIENT_CREDITS';
    this.references.set(reference, amount);
    this.move(amount);
    return 'created';
  }

  /** Places an order under `key`. Equal requests have equal `request` texts. Checks run in the contract's order. */
  order(key: string, request: string, charge: Charge): Outcome {
    const known = this.orders.get(key);
    if (known !== undefined) return known.request === request ? 'replayed' : 'IDEMPOTENCY_KEY_REUSED';
    const refusal = this.refusalOf(charge);
    if (refusal !== undefined) return refusal;
    if (charge.quote !== undefined) this.used.add(charge.quote.id);
    this.orders.set(key, { request, credits: charge.credits, taken: charge.taken, isRefunded: false });
    this.take(charge.taken, -1n);
    this.spentToday += charge.credits;
    this.move(-charge.credits);
    return 'created';
  }

  /** Refunds the order of `key`. */
  refund(key: string): void {
    const order = this.orders.get(key);
    if (order === undefined || order.isRefunded) return;
    order.isRefunded = true;
    this.take(order.taken, 1n);
    this.spentToday -= order.credits < this.spentToday ? order.credits : this.spentToday;
    this.move(order.credits);
  }

  private refusalOf({ credits, taken, refusal, quote }: Charge): string | undefined {
    if (refusal === 'QUOTE_NOT_FOUND') return refusal;
    if (quote !== undefined && this.used.has(quote.id)) return 'QUOTE_ALREADY_USED';
    if (quote?.isExpired === true) return 'QUOTE_EXPIRED';
    if (refusal !== undefined) return refusal;
    const { energySun, bandwidthSun } = this.free;
    if (taken.energySun > energySun || taken.bandwidthSun > bandwidthSun) return 'CAPACITY_UNAVAILABLE';
    if (this.isFrozen) return 'PROJECT_FROZEN';
    if (this.floor !== null && this.balance - credits < this.floor) return 'INSUFFICIENT_CREDITS';
    if (this.cap !== null && this.spentToday + credits > this.cap) return 'SPEND_CAP_REACHED';
    return undefined;
  }

  private take({ energySun, bandwidthSun }: Taken, sign: bigint): void {
    this.free = {
      energySun: this.free.energySun + sign * energySun,
      bandwidthSun: this.free.bandwidthSun + sign * bandwidthSun,
    };
  }

  private move(amount: bigint): void {
    this.balance += amount;
    this.entries += 1;
  }
}
