// What the demo shows: one rental from quote to reclaim, made by a merchant over HTTP, every claim checked on chain.
import { randomUUID } from 'node:crypto';
import type { Arrival, DemoReceiver } from './demo-receiver.js';
import { Merchant, type MerchantAnswer } from './merchant.js';
import type { Screen } from './screen.js';
import { until } from './wait.js';
import type { World } from './world.js';

const DELIVERY_LIMIT_MS = 60_000;
const RENTAL_SEC = 300;
const FEE_LIMIT_SUN = 100_000_000;
const TOKENS = 25_000_000n;
const PAID_IN = 40_000_000n;

type Body = MerchantAnswer['body'];

const ENTRY_KEY_MAX = 30;

/** A step of the scenario did not come out as it must. */
class ScenarioError extends Error {}

function check(condition: boolean, what: string, body?: unknown): asserts condition {
  if (!condition) throw new ScenarioError(`${what}${body === undefined ? '' : `: ${JSON.stringify(body)}`}`);
}

const text = (value: unknown): string => String(value);
const grouped = (value: unknown): string => Number(value).toLocaleString('en').replaceAll(',', ' ');

export class DemoScenario {
  private readonly key = `demo-${randomUUID()}`;
  private readonly shown = new Set<Arrival>();

  constructor(
    private readonly world: World,
    private readonly merchant: Merchant,
    private readonly receiver: DemoReceiver,
    private readonly screen: Screen,
  ) {}

  async run(): Promise<void> {
    const [sender, recipient] = this.world.accounts;
    check(sender !== undefined && recipient !== undefined, 'the world has test accounts');
    this.screen.title('A merchant is about to send USDT and rents the energy for it');
    await this.webhook();
    const quote = await this.quote(sender.address);
    const before = await this.world.wallet.energyOf(sender.address);
    const order = await this.order(quote);
    const delivered = await this.delivery(order);
    const after = await this.world.wallet.energyOf(sender.address);
    this.screen.detail('energy on chain', `${grouped(before.limit)} before, ${grouped(after.limit)} now`);
    check(after.limit - before.limit >= Number(order['energy']), 'the energy arrived', after);
    await this.events(
      ['webhook.created', 'order.created', 'order.delivered'],
      'the merchant’s server gets events, each verified by the public library standardwebhooks',
    );
    await this.transfer(quote);
    await this.deposit();
    await this.reclaim(delivered);
    await this.events(['order.delivered', 'order.settled', 'order.ended'], 'and since then');
    await this.ledger();
    await this.report();
  }

  /** MD5 does not cover a path, so that the newer calls are made by HMAC alone. */
  private hmac(): Merchant {
    const { baseUrl, id, apiKey } = this.merchant;
    return new Merchant(baseUrl, id, apiKey, 'hmac');
  }

  private async webhook(): Promise<void> {
    this.screen.request(`POST /v1/webhooks  events to ${this.receiver.url}`);
    const answer = await this.hmac().post('/v1/webhooks', { url: this.receiver.url });
    check(answer.status === 201, 'a webhook', answer.body);
    this.receiver.knows(text(answer.body['secret']));
    await this.tick();
    this.screen.done('made; its secret is shown once, and the merchant’s server keeps it');
  }

  /** Those of `types` and of `before` that have not been shown, once there is one of each of `types`. */
  private async events(types: readonly string[], who: string, before: readonly string[] = []): Promise<void> {
    const isOurs = ({ type }: Arrival): boolean => types.includes(type) || before.includes(type);
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

  private async quote(sender: string): Promise<Body> {
    this.screen.request(`POST /v1/quotes  energy to send a token from ${sender}`);
    const body = { receive_address: sender, duration_sec: RENTAL_SEC };
    // The market is read in the background: just started, it may need a moment.
    const answer = await until(
      async () => {
        const tried = await this.merchant.post('/v1/quotes', body);
        return tried.status === 503 ? undefined : tried;
      },
      DELIVERY_LIMIT_MS,
      'a quote',
      200,
    );
    check(answer.status === 200, 'a quote', answer.body);
    const quote = answer.body;
    await this.tick();
    this.screen.done(
      `${grouped(quote['energy'])} energy for ${RENTAL_SEC} s, held for ${text(quote['expires_in_sec'])} s`,
    );
    this.screen.detail(
      'rent',
      `${text(quote['price_trx'])} TRX  ($${text(quote['price_usd'])}, ${grouped(quote['credits'])} credits)`,
    );
    this.screen.detail('burning instead', `${text(quote['burn_price_trx'])} TRX`);
    this.screen.detail('saved', `${text(quote['saving_trx'])} TRX`);
    return quote;
  }

  private async order(quote: Body): Promise<Body> {
    const body = { quote_ref: quote['ref'] };
    const headers = { 'Idempotency-Key': this.key };
    this.screen.request('POST /v1/orders  quote_ref, Idempotency-Key');
    const first = await this.merchant.post('/v1/orders', body, headers);
    check(first.status === 202 || first.status === 200, 'an order', first.body);
    check(first.body['credits'] === quote['credits'], 'the order costs what was quoted', first.body);
    await this.tick();
    this.screen.done(
      `order ${text(first.body['id'])} accepted: ${text(first.body['status'])}, charged ${grouped(first.body['credits'])} credits`,
    );
    this.screen.request('the same request once more, as after a time-out');
    const again = await this.merchant.post('/v1/orders', body, headers);
    check(again.body['id'] === first.body['id'], 'the same order again', again.body);
    check(again.headers.get('idempotency-replayed') === 'true', 'a replay says so', again.body);
    await this.tick();
    this.screen.done(`order ${text(again.body['id'])} again, charged once`);
    return first.body;
  }

  private async delivery(order: Body): Promise<Body> {
    const startedAt = performance.now();
    this.screen.request(`GET /v1/orders/${this.key.slice(0, 13)}…  until it is delivered`);
    let last = '';
    const delivered = await this.poll(({ status }) => {
      if (status !== last) this.screen.step(text(status));
      last = text(status);
      check(status !== 'refunded', 'the order is delivered', order);
      return status === 'delivered';
    });
    await this.tick();
    this.screen.done(`delivered ${((performance.now() - startedAt) / 1000).toFixed(1)} s after it was accepted`);
    const [leg] = delivered['delegations'] as readonly Body[];
    this.screen.detail('transaction', text(leg?.['txid']));
    this.screen.detail('block', text(leg?.['block_number']));
    this.screen.detail('rental ends', `${text(delivered['ends_at'])} (the chain's clock)`);
    return delivered;
  }

  private async transfer(quote: Body): Promise<void> {
    const [sender, recipient] = this.world.accounts;
    check(sender !== undefined && recipient !== undefined, 'the world has test accounts');
    this.screen.request('the sender transfers 25 tokens on chain');
    const receipt = await this.world.wallet.transferToken(
      this.world.token,
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
    const feeSun = Number(quote['burn_price_sun']) / Number(quote['energy']);
    this.screen.done(
      `${grouped(used)} energy used, 0 TRX burnt for energy (without the rental: ${((used * feeSun) / 1e6).toFixed(3)} TRX)`,
    );
  }

  /** The merchant buys credits while the rental runs. */
  private async deposit(): Promise<void> {
    const [payer] = this.world.accounts;
    check(payer !== undefined, 'the world has test accounts');
    const merchant = this.hmac();
    this.screen.request('GET /v1/deposits/address  to buy credits on chain');
    const { status, body } = await merchant.get('/v1/deposits/address');
    check(status === 200, 'an address to pay to', body);
    const address = text(body['address']);
    await this.tick();
    this.screen.done(`${address}, which belongs to this project alone`);
    for (const each of body['accepts'] as readonly Body[]) {
      this.screen.detail('accepts', `${text(each['asset'])}, at least ${text(each['minimum'])}`);
    }
    this.screen.request('the merchant pays 40 USDT to it on chain');
    const receipt = await this.world.wallet.transferToken(this.world.token, payer, address, PAID_IN, FEE_LIMIT_SUN);
    await this.tick();
    this.screen.done(`paid, in block ${text(receipt['blockNumber'])}; it counts once the block is final`);
    const credited = await until(
      async () => {
        const { body: page } = await merchant.get('/v1/deposits');
        const [newest] = (page['items'] ?? []) as readonly Body[];
        return newest?.['status'] === 'credited' ? newest : undefined;
      },
      DELIVERY_LIMIT_MS,
      'the credits of the deposit',
      200,
    );
    await this.tick();
    this.screen.done(
      `${grouped(credited['credits'])} credits for ${text(credited['amount'])} ${text(credited['asset'])}`,
    );
    // Of a deposit that is final when it is first seen there is no other event.
    await this.events(['deposit.credited'], 'the merchant’s server receives', ['deposit.pending']);
  }

  private async reclaim(delivered: Body): Promise<void> {
    this.screen.request(`waiting for the end of the rental: ${RENTAL_SEC} s of chain time`);
    const done = await this.poll((order) => order['reclaimed_at'] !== undefined, 200);
    await this.tick();
    const lateMs = Date.parse(text(done['reclaimed_at'])) - Date.parse(text(done['ends_at']));
    check(lateMs >= 0, 'never reclaimed early', done);
    check(done['ends_at'] === delivered['ends_at'], 'the end did not move', done);
    const [leg] = done['delegations'] as readonly Body[];
    this.screen.done(`reclaimed ${lateMs / 1000} s after its end, by the chain's clock`);
    this.screen.detail('transaction', text(leg?.['reclaim_txid']));
    const [sender] = this.world.accounts;
    const left = await this.world.wallet.energyOf(sender?.address ?? '');
    this.screen.detail('energy on chain', grouped(left.limit));
  }

  private async ledger(): Promise<void> {
    this.screen.request('GET /v1/balance, and the ledger behind it');
    const { body } = await this.merchant.get('/v1/balance');
    this.screen.done(`${grouped(body['credits_balance'])} credits ($${text(body['usd_balance'])})`);
    const statement = await this.world.cli('credits', 'statement', this.merchant.id);
    const entries = (statement['entries'] ?? []) as readonly Body[];
    let sum = 0;
    for (const entry of [...entries].reverse()) {
      sum += Number(entry['credits']);
      this.screen.detail(
        text(entry['kind']),
        `${grouped(entry['credits']).padStart(13)}  ${shortened(text(entry['entry_key']))}`,
      );
    }
    check(entries.length > 0, 'the ledger has entries', statement);
    check(sum === Number(body['credits_balance']), 'the balance is the sum of its entries', statement);
  }

  /** What the operator earned, by then. */
  private async report(): Promise<void> {
    const today = new Date().toISOString().slice(0, 10);
    this.screen.request(`cli report --from ${today} --to ${today}  what the operator earned`);
    const report = await this.world.cli('report', '--from', today, '--to', today);
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

  private async poll(isDone: (order: Body) => boolean, limitSec = DELIVERY_LIMIT_MS / 1000): Promise<Body> {
    return until(
      async () => {
        const { status, body } = await this.merchant.get(`/v1/orders/${this.key}`);
        check(status === 200 || status === 202, 'the order can be read', body);
        return isDone(body) ? body : undefined;
      },
      limitSec * 1000,
      'the order',
      100,
    );
  }

  private async tick(): Promise<void> {
    this.screen.setChainTime(await this.world.wallet.headTime());
  }
}

/** As much of an entry's key as fits beside its amount. */
function shortened(key: string): string {
  return key.length > ENTRY_KEY_MAX ? `${key.slice(0, ENTRY_KEY_MAX - 1)}…` : key;
}

/** How an event came, and what it was answered. */
export function arrivalText({ lateMs, status, againAfterMs }: Arrival): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  if (againAfterMs !== undefined) return `repeated ${seconds(againAfterMs)} later, same id; answered 204`;
  return `after ${seconds(lateMs)}; answered ${status === 503 ? '503, to see it repeated' : '204'}`;
}
