// The demo's scenario: a merchant rents energy over HTTP, from quote to reclaim, and each step is verified on chain.
import { randomUUID } from 'node:crypto';
import type { Balance, EnergyClient, LedgerEntry, Order, Quote } from '../../sdk/src/index.js';
import type { Arrival, DemoReceiver } from './demo-receiver.js';
import type { Screen } from './screen.js';
import { until } from './wait.js';
import { newChainAccount, type ChainAccount } from './chain-account.js';
import type { LocalService } from './local-service.js';

const DELIVERY_LIMIT_MS = 60_000;
const RENTAL_SEC = 300;
const LONG_SEC = 86_400;
const FEE_LIMIT_SUN = 100_000_000;
const TOKENS = 25_000_000n;
const PAID_IN = 40_000_000n;
const KEPT = 65_000;
const BANDWIDTH = 2000;
const CAP_CREDITS = 100_000_000;

type Body = Readonly<Record<string, unknown>>;

const ENTRIES_SHOWN = 6;
const ENTRY_TEXT_MAX = 30;

/** A step of the scenario did not have the required result. */
class ScenarioError extends Error {}

function check(condition: boolean, what: string, body?: unknown): asserts condition {
  if (!condition) throw new ScenarioError(`${what}${body === undefined ? '' : `: ${JSON.stringify(body)}`}`);
}

const text = (value: unknown): string => String(value);
const grouped = (value: unknown): string => Number(value).toLocaleString('en').replaceAll(',', ' ');

/** Accounts reserved for the scenario, so that users who try the service meanwhile do not disturb it. */
export interface Actors {
  readonly sender: ChainAccount;
  readonly recipient: ChainAccount;
  readonly treasury: ChainAccount;
}

export class DemoScenario {
  private readonly key = `demo-${randomUUID()}`;
  private readonly beganAt = new Date();
  private readonly shown = new Set<Arrival>();

  constructor(
    private readonly service: LocalService,
    private readonly actors: Actors,
    private readonly client: EnergyClient,
    private readonly receiver: DemoReceiver,
    private readonly screen: Screen,
  ) {}

  /** Pays `tokens` units of the token to the project's deposit address and returns the receipt of its block. */
  async payIn(tokens: bigint): Promise<Body> {
    const { address } = await this.client.account.depositAddress();
    return this.service.wallet.transferToken(this.service.token, this.actors.sender, address, tokens, FEE_LIMIT_SUN);
  }

  /** Runs the scenario. Calls `meanwhile` in the idle time before the rental ends. */
  async run(meanwhile: () => Promise<void>): Promise<void> {
    const { sender } = this.actors;
    this.screen.title('A merchant is about to send USDT and rents the energy for it');
    await this.webhook();
    const quote = await this.quote(sender.address);
    const before = await this.service.wallet.energyOf(sender.address);
    const order = await this.order(quote);
    const delivered = await this.delivery(order);
    const after = await this.service.wallet.energyOf(sender.address);
    this.screen.detail('energy on chain', `${grouped(before.limit)} before, ${grouped(after.limit)} now`);
    check(after.limit - before.limit >= Number(order.energy), 'the energy arrived', after);
    await this.events(
      ['webhook.created', 'order.created', 'order.delivered'],
      'the merchant’s server receives events and verifies each with the public library standardwebhooks',
    );
    await this.transfer(quote);
    await this.deposit();
    await this.autoDelegation();
    await this.everything();
    await this.longRentals();
    await this.reclaim(delivered, meanwhile);
    await this.events(['order.delivered', 'order.settled', 'order.ended'], 'and since then');
    await this.ledger();
    await this.report();
  }

  /** Shows what happened after the demonstration, with the time of the chain at that moment. */
  async happened(text: string): Promise<void> {
    // The last known time serves while the chain does not answer, as at the end of the demo.
    await this.tick().catch(() => undefined);
    this.screen.arrived(text);
  }

  private async webhook(): Promise<void> {
    this.screen.request(`POST /v1/webhooks  events to ${this.receiver.url}`);
    const { secret } = await this.client.webhooks.create({ url: this.receiver.url });
    this.receiver.knows(secret);
    await this.tick();
    this.screen.done('webhook created; its secret is shown once and stored by the merchant’s server');
  }

  /** Waits for one event of each of `types`, then shows all new events of `types` and `before`. */
  private async events(types: readonly string[], who: string, before: readonly string[] = []): Promise<void> {
    // Leaves out orders bought by the auto-delegation.
    const isOurs = ({ type, orderKey = this.key }: Arrival): boolean =>
      orderKey === this.key && (types.includes(type) || before.includes(type));
    const unseen = (): readonly Arrival[] =>
      this.receiver.arrivals.filter((arrival) => isOurs(arrival) && !this.shown.has(arrival));
    const areHere = (): true | undefined =>
      types.every((type) => unseen().some((arrival) => arrival.type === type)) ? true : undefined;
    await until(areHere, DELIVERY_LIMIT_MS, `the events ${types.join(', ')}`);
    await this.tick();
    this.screen.arrived(who);
    for (const arrival of unseen()) {
      this.screen.detail(arrival.type, arrivalText(arrival));
      this.shown.add(arrival);
    }
  }

  private async quote(sender: string): Promise<Quote> {
    this.screen.request(`POST /v1/quotes  energy to send a token from ${sender}`);
    // The service reads the market in the background. Just after its start this takes a moment, and the client retries.
    const quote = await this.client.quotes.create({ receive_address: sender, duration_sec: RENTAL_SEC });
    await this.tick();
    this.screen.done(`${grouped(quote.energy)} energy for ${RENTAL_SEC} s, price held for ${quote.expires_in_sec} s`);
    this.screen.detail(
      'rent',
      `${quote.price_trx} TRX  ($${text(quote.price_usd)}, ${grouped(quote.credits)} credits)`,
    );
    this.screen.detail('burning instead', `${quote.burn_price_trx} TRX`);
    this.screen.detail('saves if used', `${quote.saving_trx} TRX`);
    return quote;
  }

  private async order(quote: Quote): Promise<Order> {
    const body = { quote_ref: quote.ref };
    this.screen.request('POST /v1/orders  quote_ref, Idempotency-Key');
    const first = await this.client.orders.create(body, { idempotencyKey: this.key });
    check(first.credits === quote.credits, 'the order costs what was quoted', first);
    await this.tick();
    this.screen.done(`order ${first.id} accepted: ${first.status}, charged ${grouped(first.credits)} credits`);
    this.screen.request('the same request again, as after a time-out');
    const again = await this.client.request<Order>({
      ...{ method: 'POST', path: '/v1/orders', body },
      idempotencyKey: this.key,
    });
    check(again.body.id === first.id, 'the same order again', again.body);
    check(again.headers.get('idempotency-replayed') === 'true', 'the answer is marked as a replay', again.body);
    await this.tick();
    this.screen.done(`the answer is order ${again.body.id} again, charged once`);
    return first;
  }

  private async delivery(order: Order): Promise<Order> {
    const startedAt = performance.now();
    this.screen.request(`GET /v1/orders/${this.key.slice(0, 13)}…  until it is delivered`);
    let last = '';
    const delivered = await this.poll(({ status }) => {
      if (status !== last) this.screen.step(status);
      last = status;
      check(status !== 'refunded', 'the order is delivered', order);
      return status === 'delivered';
    });
    await this.tick();
    this.screen.done(`delivered ${((performance.now() - startedAt) / 1000).toFixed(1)} s after it was accepted`);
    const leg = delivered.delegations?.[0];
    this.screen.detail('transaction', text(leg?.txid));
    this.screen.detail('block', text(leg?.block_number));
    this.screen.detail('rental ends', `${text(delivered.ends_at)} (the chain's clock)`);
    return delivered;
  }

  private async transfer(quote: Quote): Promise<void> {
    const { sender, recipient } = this.actors;
    this.screen.request('the sender transfers 25 tokens on chain');
    const receipt = await this.service.wallet.transferToken(
      this.service.token,
      sender,
      recipient.address,
      TOKENS,
      FEE_LIMIT_SUN,
    );
    const { receipt: usage = {} } = receipt as { receipt?: Body };
    await this.tick();
    const burnt = Number(usage['energy_fee'] ?? 0);
    check(usage['result'] === 'SUCCESS', 'the transfer succeeded', receipt);
    check(burnt === 0, 'the transfer burnt nothing for energy', receipt);
    const used = Number(usage['energy_usage_total'] ?? 0);
    const feeSun = quote.burn_price_sun / quote.energy;
    this.screen.done(
      `${grouped(used)} energy used, 0 TRX burnt for energy (without the rental: ${((used * feeSun) / 1e6).toFixed(3)} TRX)`,
    );
  }

  /** The merchant buys credits while the rental runs. */
  private async deposit(): Promise<void> {
    this.screen.request('GET /v1/deposits/address  to buy credits on chain');
    const { address, accepts } = await this.client.account.depositAddress();
    await this.tick();
    this.screen.done(`${address}, used only by this project`);
    for (const each of accepts) this.screen.detail('accepts', `${each.asset}, at least ${each.minimum}`);
    this.screen.request('the merchant pays 40 USDT to it on chain');
    const receipt = await this.payIn(PAID_IN);
    await this.tick();
    this.screen.done(`paid in block ${text(receipt['blockNumber'])}; credited once the block is final`);
    const credited = await until(
      async () => {
        const { items } = await this.client.account.deposits().page();
        return items.find(({ txid, status }) => txid === receipt['id'] && status === 'credited');
      },
      DELIVERY_LIMIT_MS,
      'the credits of the deposit',
      200,
    );
    await this.tick();
    this.screen.done(`${grouped(credited.credits)} credits for ${credited.amount} ${credited.asset}`);
    // A deposit that is already final when first seen has no earlier event.
    await this.events(['deposit.credited'], 'the merchant’s server receives', ['deposit.pending']);
  }

  /** Keeps the recipient supplied: energy that it uses is refilled within a block or two. */
  private async autoDelegation(): Promise<void> {
    const { sender, recipient } = this.actors;
    const { autoDelegations } = this.client;
    this.screen.request(`PUT /v1/auto-delegations/${recipient.address}  keep ${grouped(KEPT)} energy`);
    const set = await autoDelegations.set(recipient.address, {
      keep_energy: KEPT,
      refill_below: KEPT - 5000,
      duration_sec: RENTAL_SEC,
      daily_cap_credits: CAP_CREDITS,
    });
    await this.tick();
    this.screen.done(`set; a refill costs ${grouped(set.cost_per_refill_credits)} credits`);
    const first = await this.usable(recipient.address, KEPT);
    this.screen.done(`${grouped(first)} energy available`);
    this.screen.request('the address sends a token on chain');
    const receipt = await this.service.wallet.transferToken(
      this.service.token,
      recipient,
      sender.address,
      1_000_000n,
      FEE_LIMIT_SUN,
    );
    const used = Number((receipt['receipt'] as Body)['energy_usage_total']);
    await this.tick();
    const block = Number(receipt['blockNumber']);
    this.screen.done(`${grouped(used)} energy used, in block ${block.toString()}`);
    const again = await this.usable(recipient.address, set.refill_below);
    const { open_order: open, purchases } = await autoDelegations.get(recipient.address);
    check(open === undefined && purchases >= 2, 'the refill is delivered', { open, purchases });
    await this.tick();
    this.screen.done(
      `${grouped(again)} energy again, bought automatically: order ${purchases.toString()} of this auto-delegation`,
    );
    await autoDelegations.delete(recipient.address);
    this.screen.done('deleted; its running rental continues to its end');
  }

  /** Returns the address's usable energy once it reaches `atLeast` with no open order. */
  private async usable(address: string, atLeast: number): Promise<number> {
    return until(
      async () => {
        const { limit, used } = await this.service.wallet.energyOf(address);
        const { open_order: open } = await this.client.autoDelegations.get(address);
        return limit - used >= atLeast && open === undefined ? limit - used : undefined;
      },
      DELIVERY_LIMIT_MS,
      `${atLeast.toString()} energy at ${address}`,
      100,
    );
  }

  /** Buys the account of a new wallet with energy and bandwidth for it, as one order. */
  private async everything(): Promise<void> {
    const { address } = newChainAccount();
    this.screen.request(`POST /v1/orders  energy, bandwidth and activation of ${address}, which is not on chain yet`);
    const order = await this.client.orders.createAndWait(
      { receive_address: address, energy: KEPT, bandwidth: BANDWIDTH, activate: true, duration_sec: RENTAL_SEC },
      { idempotencyKey: `everything-${this.key.slice(5, 9)}` },
    );
    check(Number(order.delivered_bandwidth) >= BANDWIDTH, 'all parts are delivered', order);
    await this.tick();
    this.screen.done(`delivered as one order for ${order.price_trx} TRX`);
    for (const { kind, amount, price_sun } of order.items ?? []) {
      this.screen.detail(kind, `${grouped(amount).padStart(7)}  ${(price_sun / 1e6).toFixed(6)} TRX`);
    }
  }

  /** Places rentals that outlive the scenario, for users who explore the demo. */
  private async longRentals(): Promise<void> {
    const receivers = [this.actors.recipient.address, this.actors.treasury.address];
    this.screen.request(
      `POST /v1/orders  twice, for ${(LONG_SEC / 3600).toString()} h of chain time: they keep running`,
    );
    for (const [index, receiver] of receivers.entries()) {
      const body = { receive_address: receiver, energy: KEPT * (index + 1), duration_sec: LONG_SEC };
      const key = `treasury-${(index + 1).toString()}-${this.key.slice(5, 9)}`;
      await this.client.orders.createAndWait(body, { idempotencyKey: key });
    }
    await this.tick();
    this.screen.done('delivered');
  }

  private async reclaim(delivered: Order, meanwhile: () => Promise<void>): Promise<void> {
    this.screen.request(`waiting for the end of the rental: ${RENTAL_SEC} s of chain time`);
    const [done] = await Promise.all([this.poll((order) => order.reclaimed_at !== undefined, 200), meanwhile()]);
    await this.tick();
    const lateMs = Date.parse(text(done.reclaimed_at)) - Date.parse(text(done.ends_at));
    check(lateMs >= 0, 'never reclaimed early', done);
    check(done.ends_at === delivered.ends_at, 'the end did not move', done);
    this.screen.done(`reclaimed ${lateMs / 1000} s after its end, by the chain's clock`);
    this.screen.detail('transaction', text(done.delegations?.[0]?.reclaim_txid));
    const left = await this.service.wallet.energyOf(this.actors.sender.address);
    this.screen.detail('energy on chain', grouped(left.limit));
  }

  private async ledger(): Promise<void> {
    this.screen.request('GET /v1/balance, and the ledger behind it');
    const { balance, entries } = await until(
      () => this.books(),
      DELIVERY_LIMIT_MS,
      'a balance that is the sum of its entries',
    );
    this.screen.done(`${grouped(balance.credits_balance)} credits ($${balance.usd_balance})`);
    const newest = entries.slice(0, ENTRIES_SHOWN);
    const older = entries.length - newest.length;
    if (older > 0) this.screen.detail('before these', `${grouped(older)} entries of the month`);
    for (const { kind, credits, description } of newest.reverse()) {
      this.screen.detail(kind, `${grouped(credits).padStart(13)}  ${shortened(description)}`);
    }
    check(newest.length > 0, 'the ledger has entries');
  }

  /** Returns balance and entries, or undefined if an order arrived between the two reads. */
  private async books(): Promise<{ balance: Balance; entries: readonly LedgerEntry[] } | undefined> {
    const entries: LedgerEntry[] = [];
    for await (const entry of this.client.account.ledger({ limit: 100 })) entries.push(entry);
    const balance = await this.client.account.balance();
    const sum = entries.reduce((total, { credits }) => total + credits, 0);
    return sum === balance.credits_balance ? { balance, entries } : undefined;
  }

  /** Shows the operator's earnings so far. */
  private async report(): Promise<void> {
    // UTC midnight may have passed since the first order.
    const [from, to] = [this.beganAt, new Date()].map((at) => at.toISOString().slice(0, 10)) as [string, string];
    this.screen.request(`cli report --from ${from} --to ${to}  what the operator earned`);
    const report = await this.service.cli('report', '--from', from, '--to', to);
    const total = report['total'] as Body;
    check(Number(total['revenue_credits']) > 0, 'the report has what was sold', report);
    await this.tick();
    const trx = (sun: unknown): string => `${(Number(sun) / 1e6).toFixed(6)} TRX`;
    this.screen.done(
      `revenue ${grouped(total['revenue_credits'])} credits, burnt on chain ${trx(total['chain_cost_sun'])}`,
    );
    this.screen.detail('margin', `${trx(total['margin_sun'])} ($${Number(total['margin_usd']).toFixed(3)})`);
    this.screen.detail('still owed', `${grouped(report['owed_credits'])} credits`);
    for (const held of report['deposits_held'] as readonly Body[]) {
      this.screen.detail('deposits held', `${text(held['amount'])} ${text(held['asset'])}`);
    }
  }

  private async poll(isDone: (order: Order) => boolean, limitSec = DELIVERY_LIMIT_MS / 1000): Promise<Order> {
    return until(
      async () => {
        const order = await this.client.orders.get(this.key);
        return isDone(order) ? order : undefined;
      },
      limitSec * 1000,
      'the order',
      100,
    );
  }

  private async tick(): Promise<void> {
    this.screen.setChainTime(await this.service.wallet.headTime());
  }
}

/** Truncates an entry's text to fit next to its amount. */
function shortened(says: string): string {
  return says.length > ENTRY_TEXT_MAX ? `${says.slice(0, ENTRY_TEXT_MAX - 1)}…` : says;
}

/** Describes an event's delay and the answer to it. */
export function arrivalText({ lateMs, status, againAfterMs }: Arrival): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  if (againAfterMs !== undefined) return `repeated ${seconds(againAfterMs)} later with the same id; answered 204`;
  return `after ${seconds(lateMs)}; answered ${status === 503 ? '503, so that it is repeated' : '204'}`;
}
