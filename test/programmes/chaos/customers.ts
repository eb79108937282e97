// Customers that buy during faults. Each purchase has a key and is repeated until it has a final answer. The answers
// are compared with the records afterwards.
import type { INestApplicationContext } from '@nestjs/common';
import { Prices } from '../../../src/modules/quotes/prices.js';
import type { Author } from '../../../src/platform/database/audit-log.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import type { Merchant, MerchantAnswer } from '../../../packages/local/src/merchant.js';
import { sleep } from '../../../src/platform/support/clock.js';

export interface Purchase {
  readonly key: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly isPoor: boolean;
  /** Order id of the first successful answer. */
  orderId: string | undefined;
  /** `lost`: accepted by a server that no longer exists; it is not retried. */
  state: 'open' | 'accepted' | 'refused' | 'lost';
  answers: string[];
  /** True if a request had no answer: it may still be in progress, even if another copy was answered. */
  isUnclear: boolean;
}

/** Refusals that leave nothing behind and free the key. */
const REFUSED = new Set(['CAPACITY_UNAVAILABLE', 'QUOTE_EXPIRED', 'QUOTE_NOT_FOUND', 'NOT_WORTH_RENTING']);
const LARGE_ENERGY = 900_000;
const BANDWIDTH = 2000;
/** The price row that sells bandwidth too, for all durations of the customers. */
const BANDWIDTH_SEC_MAX = 600;
const BANDWIDTH_PRICE_SUN = 700n;
/** Two different rhythms over the same wallets, so that rentals of one receiver overlap. */
const DURATIONS_SEC = [60, 90, 60, 120];

/** Sets a price of bandwidth. Returns true. */
export async function sellBandwidth(parts: INestApplicationContext, act: Author): Promise<true> {
  await parts.get(Prices).setBandwidth(BANDWIDTH_SEC_MAX, BANDWIDTH_PRICE_SUN, act);
  return true;
}

export interface CustomerOptions {
  /** A customer with ample credits and one with hardly any, each at every API. */
  readonly rich: readonly Merchant[];
  readonly poor: readonly Merchant[];
  readonly receivers: readonly string[];
  /** Prefix of every key. */
  readonly run: string;
  readonly durationsSec?: readonly number[] | undefined;
  /** Buy orders of several parts too. */
  readonly buysBandwidth: boolean;
}

export class Customers {
  readonly purchases: Purchase[] = [];
  readonly wrongs: string[] = [];
  readonly counts = new Map<string, number>();
  private made = 0;

  constructor(private readonly options: CustomerOptions) {}

  get openCount(): number {
    return this.purchases.filter((purchase) => purchase.state === 'open').length;
  }

  /** Buys until the signal aborts, while `mayBuy` allows it. */
  async keepBuying(signal: AbortSignal, mayBuy: () => Promise<boolean>): Promise<void> {
    const running = new Set<Promise<void>>();
    while (!signal.aborted) {
      if (running.size < 12 && (await mayBuy().catch(() => false))) {
        for (const purchase of await this.next()) {
          const task: Promise<void> = this.insist(purchase, signal).finally(() => running.delete(task));
          running.add(task);
        }
      }
      await sleep(400, signal);
    }
    await Promise.all(running);
  }

  /** Marks orders as lost with their server: their answers no longer count. */
  forget(keys: ReadonlySet<string>): void {
    for (const purchase of this.purchases.filter(({ key }) => keys.has(key))) {
      purchase.orderId = undefined;
      if (purchase.state === 'accepted') purchase.state = 'lost';
    }
  }

  /** Retries unanswered purchases until they have an answer. Returns the number still open after `limitMs`. */
  async settle(limitMs: number): Promise<number> {
    const over = AbortSignal.timeout(limitMs);
    const open = this.purchases.filter((purchase) => purchase.state === 'open');
    await Promise.all(open.map((purchase) => this.insist(purchase, over)));
    return this.openCount;
  }

  private async next(): Promise<Purchase[]> {
    const n = (this.made += 1);
    const { receivers, durationsSec = DURATIONS_SEC } = this.options;
    const receive_address = receivers[n % receivers.length];
    const duration_sec = durationsSec[n % durationsSec.length];
    const rental = { receive_address, energy: 32_000 + (n % 7) * 1000, duration_sec };
    const list = [this.purchase('/v1/orders', rental)];
    // Twins: on chain they differ only by their salt.
    if (n % 5 === 2) list.push(this.purchase('/v1/orders', rental));
    if (n % 3 === 0) list.push(this.purchase('/v1/activate', { address: newChainAccount().address }));
    if (n % 4 === 1) list.push(this.purchase('/v1/orders', { ...rental, energy: LARGE_ENERGY }));
    const { buysBandwidth } = this.options;
    if (buysBandwidth && n % 4 === 3) list.push(this.purchase('/v1/orders', { ...rental, bandwidth: BANDWIDTH }));
    if (buysBandwidth && n % 6 === 4) {
      const bundle = { ...rental, receive_address: newChainAccount().address, bandwidth: BANDWIDTH, activate: true };
      list.push(this.purchase('/v1/orders', bundle));
    }
    // More concurrent orders than the credits cover.
    if (n % 4 === 2) for (const _ of [1, 2, 3]) list.push(this.purchase('/v1/orders', rental, true));
    if (n % 3 === 1) {
      const quoted = await this.post(n, '/v1/quotes', rental).catch(() => undefined);
      const ref = quoted?.body['quote_ref'] ?? quoted?.body['ref'];
      // Two keys for one quote: at most one of them becomes an order.
      if (typeof ref === 'string') {
        for (const _ of [1, 2]) list.push(this.purchase('/v1/orders', { quote_ref: ref }));
      }
    }
    return list;
  }

  private purchase(path: string, body: Readonly<Record<string, unknown>>, isPoor = false): Purchase {
    const key = `${this.options.run}-${this.purchases.length.toString()}`;
    const purchase: Purchase = {
      key,
      path,
      body,
      isPoor,
      orderId: undefined,
      state: 'open',
      answers: [],
      isUnclear: false,
    };
    this.purchases.push(purchase);
    return purchase;
  }

  private async post(at: number, path: string, body: object, by?: Purchase): Promise<MerchantAnswer> {
    const apis = by?.isPoor === true ? this.options.poor : this.options.rich;
    const api = apis[at % apis.length];
    if (api === undefined) throw new Error('there is no API');
    return api.post(path, { ...body }, by === undefined ? {} : { 'Idempotency-Key': by.key });
  }

  /** Repeats a purchase at alternating APIs until it has a final answer; sometimes at both concurrently. */
  private async insist(purchase: Purchase, signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted && purchase.state === 'open'; attempt += 1) {
      const at = this.purchases.indexOf(purchase) + attempt;
      const copies = at % 5 === 0 ? [at, at + 1] : [at];
      const asked = copies.map(async (one) => {
        const answer = await this.post(one, purchase.path, purchase.body, purchase).catch(() => undefined);
        this.judge(purchase, answer);
      });
      await Promise.all(asked);
      if (this.isOpen(purchase)) await sleep(300, signal);
    }
  }

  private isOpen(purchase: Purchase): boolean {
    return purchase.state === 'open';
  }

  private judge(purchase: Purchase, answer: MerchantAnswer | undefined): void {
    const code =
      answer === undefined ? 'no answer' : typeof answer.body['error'] === 'string' ? answer.body['error'] : '';
    const said = `${answer?.status.toString() ?? ''} ${code}`.trim();
    this.counts.set(said, (this.counts.get(said) ?? 0) + 1);
    purchase.answers = [...purchase.answers.slice(-9), said];
    if (answer === undefined) {
      purchase.isUnclear = true;
      return;
    }
    if (answer.status < 300) {
      const id = String(answer.body['id']);
      if (purchase.orderId !== undefined && purchase.orderId !== id) {
        this.wrongs.push(`I9 key ${purchase.key} was answered with orders ${purchase.orderId} and ${id}`);
      }
      purchase.orderId = id;
      purchase.state = 'accepted';
    } else if (
      REFUSED.has(code) ||
      code === 'QUOTE_ALREADY_USED' ||
      (purchase.isPoor && code === 'INSUFFICIENT_CREDITS')
    ) {
      // A copy of the same request may have been accepted meanwhile; that answer prevails.
      if (purchase.state === 'open') purchase.state = 'refused';
      else if (purchase.state === 'accepted' && code === 'QUOTE_ALREADY_USED') {
        this.wrongs.push(`I11 key ${purchase.key} has an order and was answered ${said}`);
      }
    } else if (answer.status < 500 && answer.status !== 429) {
      this.wrongs.push(
        `I11 ${purchase.path} with key ${purchase.key} was answered ${said} ${JSON.stringify(answer.body)}`,
      );
      purchase.state = 'refused';
    }
  }
}
