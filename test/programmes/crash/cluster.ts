// The cluster in which workers, APIs and senders are killed: a service with several small wallets, customers that
// keep buying, and processes that die at a named point. Judged by database and chain only, never by the output of a
// process.
import type { INestApplicationContext } from '@nestjs/common';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { sleep } from '../../../src/platform/support/clock.js';
import type { CrashPoint, SenderPoint, WorkerTaskPoint } from '../../../src/platform/support/crash-point.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { Merchant, type MerchantAnswer } from '../../../packages/local/src/merchant.js';
import { freePort } from '../../../packages/local/src/ports.js';
import { LocalService, type LocalServiceOptions } from '../../../packages/local/src/local-service.js';
import { openParts } from '../../../src/modules/operator/operator.module.js';
import { PoolWallets } from '../../../src/modules/pool/pool-wallets.js';
import { Database } from '../../../src/platform/database/database.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { Webhooks } from '../../../src/modules/webhooks/webhooks.js';
import { withRedis } from '../../setup/redis.js';
import { CrashReceivers } from './receivers.js';

export interface CrashClusterOptions {
  readonly blockMs?: number;
  readonly solidLag?: number;
  readonly walletsTrx?: readonly number[];
  readonly env?: NodeJS.ProcessEnv;
  readonly databaseUrl?: string;
  readonly roleUrl?: LocalServiceOptions['roleUrl'];
  readonly redisUrl?: string;
  readonly onLine?: (process: string, line: string) => void;
}

const SOLID_LAG = 6;
/** At nine energy per TRX, each wallet has a little under 900 000 energy: the largest order needs two of them. */
const WALLETS_TRX = [90_000, 90_000, 90_000, 90_000, 90_000];
const LARGE_ENERGY = 900_000;
/** In chain time, which runs at twenty times the speed. */
const LONG_SEC = 600;
/** The price row that sells bandwidth too. */
const PRICED_SEC = 600;
const BANDWIDTH = 2000;
const FEE_LIMIT_SUN = 100_000_000;
const CREDITS = 1_000_000_000_000_000;
const KILLED = 137;
/** For a whole service that starts on a busy machine. */
const PRICES_LIMIT_MS = 150_000;
/** A worker that does not reach its point within this time has no suitable work. */
const DEATH_LIMIT_MS = 12_000;
const UNFINISHED_MAX = 60;

const SETTINGS = {
  LOG_LEVEL: 'info',
  WORKER_LEASE_SEC: '2',
  WORKER_SWEEP_MS: '100',
  RESEND_SEC: '1',
  DURATION_MIN_SEC: '60',
  POOL_SYNC_SEC: '1',
  POOL_SLOTS_PER_WALLET: '4',
  MARKET_REFRESH_SEC: '1',
  RATE_LIMIT_PER_MINUTE: '1000000',
};

const UNFINISHED = `SELECT count(*)::int AS left FROM orders o WHERE NOT o.settled OR (
    o.kind = 'rental' AND EXISTS (SELECT FROM leg l WHERE l.order_id = o.id AND l.status NOT IN ('reclaimed', 'released')))`;

/**
 * Reclaims that failed repeatedly. Their retry interval grows by the database's clock, while this chain runs at twenty
 * times the speed.
 */
const RESTING = `SELECT o.key FROM orders o WHERE o.next_run_at > clock_timestamp() + interval '1 minute'
  AND EXISTS (SELECT FROM leg l WHERE l.order_id = o.id AND l.status = 'reclaiming')`;

const RUNNING = `SELECT key FROM orders WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
  ORDER BY ends_at DESC LIMIT 1`;

/**
 * Extends the reading of the wallets made when they were added. Until the first worker starts, nothing refreshes it.
 */
const SELL_WITHOUT_WORKER = `UPDATE pool_wallet SET sells_until = clock_timestamp() + interval '1 minute'
  WHERE sells_until < clock_timestamp() + interval '1 minute'`;

/**
 * Unfinished orders that no worker would claim again: there must be none at any moment. A rental whose reclaim is not
 * sent yet needs no due time, since workers claim it by its end.
 */
const FORGOTTEN = `SELECT o.id::text FROM orders o WHERE coalesce(o.next_run_at, o.play_at) IS NULL AND (NOT o.settled
  OR EXISTS (SELECT FROM leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed'))
  OR o.reclaimed_at IS NOT NULL AND EXISTS (
    SELECT FROM leg l WHERE l.order_id = o.id AND l.status = 'reclaiming' AND NOT EXISTS (
      SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid'))))`;

export type Death = 'killed' | 'lived';

export class CrashCluster {
  /** Keys with a successful answer for an order or extension: each must exist exactly once, permanently. */
  readonly accepted = new Set<string>();
  readonly violations: string[] = [];
  private orders = 0;
  private senderDeaths = 0;
  /** Senders that are not killed. */
  private readonly senders: LocalService['processes'][number][] = [];

  private constructor(
    readonly service: LocalService,
    private readonly receivers: CrashReceivers,
    private readonly parts: INestApplicationContext,
    readonly merchant: Merchant,
  ) {}

  static async open(options: CrashClusterOptions): Promise<CrashCluster> {
    const receivers = await CrashReceivers.open();
    const service = await LocalService.start({
      blockMs: options.blockMs ?? 150,
      solidLag: options.solidLag ?? SOLID_LAG,
      durable: false,
      databaseUrl: options.databaseUrl,
      redisUrl: options.redisUrl,
      poolStakesTrx: options.walletsTrx ?? WALLETS_TRX,
      env: { ...SETTINGS, ...receivers.env, ...options.env },
      ...(options.roleUrl === undefined ? {} : { roleUrl: options.roleUrl }),
      ...(options.onLine === undefined ? {} : { onLine: options.onLine }),
    });
    let parts: INestApplicationContext | undefined;
    try {
      parts = await openParts(service.env);
      const project = await service.cli('project', 'create', '--name', 'Crash', '--credits', CREDITS.toString());
      const priced = ['--duration-max', PRICED_SEC.toString(), '--sun-per-bandwidth', '700'];
      await service.cli('price', 'set-bandwidth', ...priced);
      const { baseUrl } = await service.startApi(await freePort());
      const merchant = new Merchant(baseUrl, String(project['merchant']), String(project['api_key']));
      const cluster = new CrashCluster(service, receivers, parts, merchant);
      await receivers.subscribe(service, merchant.id);
      await cluster.waitForPrices();
      return cluster;
    } catch (error) {
      await parts?.close();
      await service.stop();
      await receivers.close();
      throw error;
    }
  }

  get database(): Database {
    return this.parts.get(Database);
  }

  async close(): Promise<void> {
    await this.parts.close();
    await this.service.stop();
    await this.receivers.close();
  }

  /** Sends a request to the chain's control port. */
  async control(action: string, body: object = {}): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.service.controlUrl}/${action}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if ('Error' in answer) throw new Error(`${action}: ${String(answer['Error'])}`);
    return answer;
  }

  /** Buys rentals for shared receivers, one with several legs, an activation, and orders of all parts. */
  async volley(at: Merchant = this.merchant): Promise<void> {
    const receivers = this.service.accounts.map((account) => account.address);
    const rental = (energy: number, durationSec: number, more: Readonly<Record<string, unknown>> = {}) =>
      this.buy(at, '/v1/orders', {
        receive_address: receivers[this.orders % receivers.length],
        energy,
        duration_sec: durationSec,
        ...more,
      });
    await Promise.all([
      rental(32_000 + (this.orders % 7) * 1000, 60),
      rental(32_000, 90),
      rental(this.orders % 3 === 0 ? LARGE_ENERGY : 40_000, 60),
      this.buy(at, '/v1/activate', { address: newChainAccount().address }),
      rental(32_000, 60, { bandwidth: BANDWIDTH }),
      rental(32_000, 60, { receive_address: newChainAccount().address, bandwidth: BANDWIDTH, activate: true }),
      this.extend(at),
    ]);
  }

  /** Rents energy for each receiver for longer than the volleys do, and uses some of it. */
  async rentLong(): Promise<void> {
    const { accounts, bank, token, wallet } = this.service;
    await Promise.all(
      accounts.map(async (account) => {
        const body = { receive_address: account.address, energy: 40_000, duration_sec: LONG_SEC };
        await this.buy(this.merchant, '/v1/orders', body);
        // A receiver without tokens, or with a transaction dropped by a fork, may not use energy. Repetition covers
        // both cases.
        await wallet.transferToken(token, account, bank.address, 1n, FEE_LIMIT_SUN).catch(() => undefined);
      }),
    );
  }

  /** Extends a running rental, if there is one. A refusal is valid only after its end, or without capacity. */
  private async extend({ baseUrl, id, apiKey }: Merchant): Promise<void> {
    const [running] = await this.database.query<{ key: string }>(RUNNING);
    if (running === undefined) return;
    this.orders += 1;
    const key = `crash-${this.orders.toString()}`;
    const send = (url: string): Promise<MerchantAnswer> =>
      new Merchant(url, id, apiKey, 'hmac').post(
        `/v1/orders/${running.key}/extensions`,
        { duration_sec: 60 },
        { 'Idempotency-Key': key },
      );
    const { status, body } = await send(baseUrl).catch(() => send(this.merchant.baseUrl));
    if (status === 200) this.accepted.add(key);
    else if (body['error'] !== 'NOT_EXTENDABLE' && body['error'] !== 'CAPACITY_UNAVAILABLE') {
      this.violations.push(`I11 an extension was answered ${status.toString()} ${JSON.stringify(body)}`);
    }
  }

  /** Makes one purchase under a new key. After a lost answer it retries at the unharmed API. */
  async buy(at: Merchant, path: string, body: Readonly<Record<string, unknown>>): Promise<string> {
    this.orders += 1;
    const key = `crash-${this.orders.toString()}`;
    const send = (merchant: Merchant): Promise<MerchantAnswer> => merchant.post(path, body, { 'Idempotency-Key': key });
    const answer = await send(at).catch(() => send(this.merchant));
    if (answer.status < 300) this.accepted.add(key);
    else if (answer.body['error'] !== 'CAPACITY_UNAVAILABLE') {
      this.violations.push(`I11 ${path} answered ${answer.status.toString()} ${JSON.stringify(answer.body)}`);
    }
    return key;
  }

  /** Buys until the signal aborts, with at most a few dozen unfinished orders at a time. */
  async keepBuying(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [row] = await this.database.query<{ left: number }>(UNFINISHED);
      if ((row?.left ?? 0) < UNFINISHED_MAX) await this.volley();
      await sleep(300, signal);
    }
  }

  /** Starts a worker that dies at the n-th pass of `point`. Returns `killed` if it did. */
  async killWorkerAt(
    point: CrashPoint | WorkerTaskPoint,
    n: number,
    limitMs = DEATH_LIMIT_MS,
    env: NodeJS.ProcessEnv = {},
  ): Promise<Death> {
    return this.killAt(() => this.service.startWorker({ CRASH_AT: `${point}:${n.toString()}`, ...env }), limitMs);
  }

  /** Same for a sender. */
  async killSenderAt(point: SenderPoint, n: number): Promise<Death> {
    const env = { CRASH_AT: `${point}:${n.toString()}` };
    await this.receivers.stir(this.parts.get(Webhooks, { strict: false }));
    const death = await this.killAt(() => this.service.startSender(env), DEATH_LIMIT_MS);
    if (death === 'killed') this.senderDeaths += 1;
    return death;
  }

  /** Starts a sender that is not killed: from now on events arrive. */
  async startSending(): Promise<void> {
    this.senders.push(await this.service.startSender());
  }

  private async killAt(start: () => ReturnType<LocalService['startWorker']>, limitMs: number): Promise<Death> {
    const over = new AbortController();
    let process: LocalService['processes'][number];
    try {
      process = await start();
    } catch (error) {
      // The process reached its point before it reported that it was ready.
      if (String(error).includes(`code ${KILLED.toString()}`)) return 'killed';
      throw error;
    }
    const code = await Promise.race([process.exited, sleep(limitMs, over.signal)]);
    over.abort();
    await this.stopAndForget(process);
    if (code !== undefined && code !== KILLED)
      throw new Error(`the ${process.name} ended with ${code.toString()}:\n${process.tail()}`);
    return code === KILLED ? 'killed' : 'lived';
  }

  /** Buys at an API that dies at `point`; retries lost answers at the unharmed one. */
  async killApiAt(point: CrashPoint, n: number): Promise<Death> {
    const { process, baseUrl } = await this.service.startApi(await freePort(), {
      CRASH_AT: `${point}:${n.toString()}`,
    });
    const merchant = new Merchant(baseUrl, this.merchant.id, this.merchant.apiKey);
    await this.waitForPrices(merchant);
    await this.volley(merchant);
    const code = await Promise.race([process.exited, sleep(DEATH_LIMIT_MS)]);
    await this.stopAndForget(process);
    return code === KILLED ? 'killed' : 'lived';
  }

  /** Checks the records' rules. With `settled`, every order must also be finished, and the chain is compared. */
  async check(when: string, settled = false): Promise<void> {
    await this.resumeWallets();
    const chain = settled ? { chain: this.parts.get(TronClient, { strict: false }), settleWithinSec: 0 } : {};
    const report = await verifyRecords(this.database, chain);
    // Slots follow the chain at the workers' next pool pass, which a dead worker does not make.
    const found = findingsOf(report).filter((finding) => settled || finding.check !== 'capacity');
    if (found.length > 0) {
      this.violations.push(
        `${when}: ${found
          .slice(0, 5)
          .map((finding) =>
            JSON.stringify(finding, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
          )
          .join(' ')}`,
      );
    }
    if (settled) this.violations.push(...report.unmade.map(({ check, why }) => `${check} could not be made: ${why}`));
    const forgotten = await this.database.query(FORGOTTEN);
    if (forgotten.length > 0) this.violations.push(`${when}: I5 forgotten ${JSON.stringify(forgotten)}`);
    await this.checkAccepted(when);
  }

  private async isCapacityBehind(): Promise<boolean> {
    return findingsOf(await verifyRecords(this.database, {})).some(({ check }) => check === 'capacity');
  }

  /** Waits, with unharmed workers, until all work is done. */
  async finish(limitMs: number): Promise<void> {
    const workers = [await this.service.startWorker(), await this.service.startWorker()];
    const deadline = performance.now() + limitMs;
    let left = -1;
    while (performance.now() < deadline) {
      left = (await this.database.query<{ left: number }>(UNFINISHED))[0]?.left ?? -1;
      if (left === 0) break;
      // A transaction that died with its process may be proven dead only now, and block its wallet.
      await this.resumeWallets();
      await this.reclaimAgain();
      await sleep(200);
    }
    if (left !== 0) this.violations.push(`I5 ${left.toString()} orders not over ${await this.unfinished()}`);
    // The pool's capacity equals the chain's once it has read every wallet again.
    while (performance.now() < deadline && (await this.isCapacityBehind())) await sleep(500);
    await this.receivers
      .untilSent(this.database, limitMs)
      .catch((error: unknown) => this.violations.push(String(error)));
    await Promise.all([...workers, ...this.senders.splice(0)].map((process) => this.stopAndForget(process)));
    this.violations.push(...(await this.receivers.violations(this.database, this.senderDeaths)));
    await this.check('at the end', true);
    // The operator's view: the command's own exit code.
    await this.service.cli('verify', '--full', '--settle-within', '0').catch((error: unknown) => {
      const { stdout } = error as { stdout?: string };
      this.violations.push(`cli verify: ${(stdout ?? String(error)).slice(0, 4000)}`);
    });
  }

  async flushRedis(): Promise<void> {
    await withRedis(this.service.redisUrl, (redis) => redis.flushdb());
  }

  private async checkAccepted(when: string): Promise<void> {
    const keys = [...this.accepted];
    const rows = await this.database.query<{ key: string }>('SELECT key FROM order_key WHERE key = ANY ($1)', [keys]);
    if (rows.length !== keys.length) {
      this.violations.push(`${when}: I11 ${keys.length.toString()} accepted, ${rows.length.toString()} there`);
    }
  }

  private async unfinished(): Promise<string> {
    const rows = await this.database.query(
      `SELECT o.id, o.kind, o.status, o.settled, o.undoing, o.next_run_at, o.lease_until, clock_timestamp() AS now,
          (SELECT json_agg(json_build_array(l.id, l.status, l.amount_sun)) FROM leg l WHERE l.order_id = o.id) AS legs,
          (SELECT json_agg(json_build_array(t.leg_id, t.purpose, t.attempt, t.status, t.expires_at, t.block_at))
             FROM chain_tx t WHERE t.order_id = o.id) AS txs
        FROM orders o WHERE NOT o.settled OR (o.kind = 'rental' AND EXISTS (
          SELECT FROM leg l WHERE l.order_id = o.id AND l.status NOT IN ('reclaimed', 'released'))) LIMIT 5`,
    );
    return rows
      .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)))
      .join('\n');
  }

  /** Stops a process and removes it from the list. */
  async stopAndForget(process: LocalService['processes'][number]): Promise<void> {
    await process.stop();
    const at = this.service.processes.indexOf(process);
    if (at >= 0) this.service.processes.splice(at, 1);
  }

  /** Re-enables all wallets, as the operator does after learning why their transactions died. */
  private async resumeWallets(): Promise<void> {
    const rows = await this.database.query<{ address: string }>(
      `SELECT address FROM pool_wallet WHERE delivery_fault IS NOT NULL`,
    );
    const act = { actor: 'crash', reason: 'processes died, not the wallet' };
    const wallets = this.parts.get(PoolWallets, { strict: false });
    for (const { address } of rows) await wallets.setStatus(address, 'active', act);
  }

  /** Requeues resting reclaims as the operator would. Ignores those that finished meanwhile. */
  private async reclaimAgain(): Promise<void> {
    for (const { key } of await this.database.query<{ key: string }>(RESTING)) {
      await this.service.cli('orders', 'requeue', key).catch((error: unknown) => {
        if (!String(error).includes('is finished')) throw error;
      });
    }
  }

  /** Waits until a new API quotes a price: it first reads the market. */
  private async waitForPrices(merchant: Merchant = this.merchant): Promise<void> {
    const body = { receive_address: this.service.accounts[0]?.address, energy: 32_000 };
    const deadline = performance.now() + PRICES_LIMIT_MS;
    let answer: MerchantAnswer | undefined;
    while (performance.now() < deadline) {
      await this.resumeWallets();
      await this.database.query(SELL_WITHOUT_WORKER);
      answer = await merchant.post('/v1/quotes', body);
      if (answer.status === 200) return;
      await sleep(100);
    }
    throw new Error(`the API names no price: ${answer?.status.toString() ?? ''} ${JSON.stringify(answer?.body)}`);
  }
}
