// A service whose records and chain can be made to disagree. The API and a worker's parts run in this process, so that
// a test decides when the reconciler runs.
import { NestFactory } from '@nestjs/core';
import type { INestApplicationContext } from '@nestjs/common';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { ChainUnavailableError } from '../../../src/platform/chain/errors.js';
import { Reconciler } from '../../../src/modules/reconciliation/reconciler.js';
import { UnrecordedSearch } from '../../../src/modules/reconciliation/unrecorded-search.js';
import { FulfilmentLoop } from '../../../src/modules/fulfilment/loop/fulfilment-loop.js';
import { openLog } from '../log.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { until } from '../../../packages/local/src/wait.js';
import { LocalService } from '../../../packages/local/src/local-service.js';
import { PoolSync } from '../../../src/modules/pool/pool-sync.js';
import { Database } from '../../../src/platform/database/database.js';
import { findingsOf, type Report } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { WorkerModule } from '../../../src/apps/worker/worker.module.js';
import type { Customer } from '../api/client.js';
import { makeCustomer, openApi, type TestApi, keepSelling } from '../api/factory.js';
import { cliWith, type Cli } from '../cli.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { asRole, envAs } from '../../setup/roles.js';

const LIMIT_MS = 30_000;

export interface WalletSeen {
  readonly id: number;
  readonly address: string;
  readonly status: string;
  readonly pause_reason: string | null;
}

export class ReconciliationFixture {
  private constructor(
    readonly service: LocalService,
    readonly api: TestApi,
    readonly customer: Customer,
    readonly worker: INestApplicationContext,
    readonly cli: Cli,
    readonly close: () => Promise<void>,
  ) {}

  static async open(settings: Readonly<Record<string, string>> = {}): Promise<ReconciliationFixture> {
    const [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
    const service = await LocalService.start({
      blockMs: 100,
      solidLag: 2,
      durable: false,
      databaseUrl: store.url,
      redisUrl: redis.url,
      roleUrl: asRole,
      poolStakesTrx: [60_000, 50_000, 40_000],
      env: {
        POOL_SYNC_SEC: '1',
        POOL_ORPHAN_GRACE_SEC: '0',
        DURATION_MIN_SEC: '60',
        WORKER_SWEEP_MS: '100',
        ...settings,
      },
    });
    const env = { ...service.env, LOG_LEVEL: 'silent', USER: 'tester' } as Record<string, string>;
    const api = await openApi({ ...env, PORT: '0' });
    const config = readConfig(envAs(env, 'worker'));
    const parts = WorkerModule.for(config, openLog('silent'));
    const worker = await NestFactory.createApplicationContext(parts, { logger: false });
    worker.get(FulfilmentLoop).start();
    return new ReconciliationFixture(service, api, await makeCustomer(api), worker, cliWith(env), async () => {
      await worker.get(FulfilmentLoop).stop();
      await worker.close();
      await api.close();
      await service.stop();
      await redis.close();
      await store.drop();
    });
  }

  /** The owner's connection. The worker itself has fewer rights. */
  get database(): Database {
    return this.api.database;
  }

  /** Searches to the solid head and runs one pass of the reconciler, even if none is due. */
  async pass(worker = this.worker): Promise<void> {
    await this.search(worker);
    await this.database.query(`UPDATE reconcile_state SET passed_at = NULL, lease_until = NULL`);
    await worker.get(Reconciler).reconcile();
  }

  /** Searches as the worker that reads blocks does, as far as nodes answer. */
  async search(worker = this.worker): Promise<void> {
    const search = worker.get(UnrecordedSearch, { strict: false });
    try {
      while ((await search.searchNext(true)) !== 0);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
  }

  /** Opens another worker's parts with further settings. None runs by itself. The caller closes them. */
  async openWorker(settings: Readonly<Record<string, string>> = {}): Promise<INestApplicationContext> {
    const config = readConfig(envAs({ ...this.service.env, LOG_LEVEL: 'silent', ...settings }, 'worker'));
    return NestFactory.createApplicationContext(WorkerModule.for(config, openLog('silent')), { logger: false });
  }

  /** Searches to the solid head and runs the reconciler, which makes a pass only if one is due. */
  async look(): Promise<void> {
    await this.search();
    await this.worker.get(Reconciler).reconcile();
  }

  async syncAll(): Promise<void> {
    const sync = this.worker.get(PoolSync);
    for (const wallet of await this.wallets()) await sync.syncWallet(wallet.address);
  }

  async verify(terms: { settleWithinSec?: number } = {}): Promise<Report> {
    return verifyRecords(this.worker.get(Database), { chain: this.worker.get(TronClient), ...terms });
  }

  /**
   * Expects no findings and every wallet active, and a purchase for `receiver` accepted, after a disagreement was
   * resolved.
   */
  async expectAgreement(receiver: string): Promise<void> {
    await this.syncAll();
    await this.pass();
    expect(namesOf(await this.verify())).toEqual([]);
    expect((await this.wallets()).map(({ status, pause_reason }) => pause_reason ?? status)).toEqual(
      Array(4).fill('active'),
    );
    expect((await this.buy(receiver)).status).toBe(202);
  }

  async explainAll(): Promise<void> {
    const { code, err } = await this.cli('verify', 'explain', '--all', '--yes', '--reason', 'checked');
    expect({ code, err }).toMatchObject({ code: 0 });
  }

  async wallets(): Promise<WalletSeen[]> {
    return this.database.query<WalletSeen>(`SELECT id, address, status, pause_reason FROM pool_wallet ORDER BY id`);
  }

  async wallet(address: string): Promise<WalletSeen> {
    return (await this.wallets()).find((wallet) => wallet.address === address)!;
  }

  async buy(receiver: string, energy = 65_000, durationSec = 3600): Promise<{ status: number; key: string }> {
    // The pool is synced only on request here, so this keeps it selling.
    await keepSelling(this.database);
    const order = { receive_address: receiver, energy, duration_sec: durationSec };
    const answer = await this.customer.post('/v1/orders', order);
    return { status: answer.status, key: String(answer.body.key) };
  }

  /** Buys and waits until the delivery is final. */
  async rent(receiver: string, energy?: number, durationSec?: number): Promise<bigint> {
    const { status, key } = await this.buy(receiver, energy, durationSec);
    if (status !== 202) throw new Error(`the order was answered ${status.toString()}`);
    return until(
      async () => {
        const [row] = await this.database.query<{ id: bigint }>(`SELECT id FROM orders WHERE key = $1 AND settled`, [
          key,
        ]);
        return row?.id;
      },
      LIMIT_MS,
      `the settlement of ${key}`,
    );
  }

  /**
   * Delegates outside the service, by the wallet's owner or with the service's key. Returns once the block is solid.
   */
  async delegateForeign(index: number, receiver: string, trx: number, withHotKey = false): Promise<string> {
    const wallet = this.service.poolWallets[index]!;
    const txid = await this.service.wallet.send(
      'delegateresource',
      {
        owner_address: wallet.address,
        receiver_address: receiver,
        balance: trx * 1_000_000,
        resource: 'ENERGY',
        ...(withHotKey && { Permission_id: 2 }),
      },
      withHotKey ? wallet.hotKey : wallet,
    );
    await this.solid(txid);
    return txid;
  }

  /**
   * Undelegates outside the service, by the wallet's owner or with the service's key. Returns once the block is solid.
   */
  async undelegateForeign(address: string, receiver: string, sun: number, withHotKey = false): Promise<string> {
    const wallet = this.service.poolWallets.find((each) => each.address === address)!;
    const txid = await this.service.wallet.send(
      'undelegateresource',
      {
        owner_address: wallet.address,
        receiver_address: receiver,
        balance: sun,
        resource: 'ENERGY',
        ...(withHotKey && { Permission_id: 2 }),
      },
      withHotKey ? wallet.hotKey : wallet,
    );
    await this.solid(txid);
    return txid;
  }

  async solid(txid: string): Promise<void> {
    await until(
      async () => {
        const response = await fetch(`${this.service.solidUrls[0]!}/walletsolidity/gettransactioninfobyid`, {
          method: 'POST',
          body: JSON.stringify({ value: txid }),
          signal: AbortSignal.timeout(5000),
        });
        return 'id' in ((await response.json()) as object) ? true : undefined;
      },
      LIMIT_MS,
      `the finality of ${txid}`,
    );
  }

  async delegatedSun(index: number, receiver: string): Promise<number> {
    const answer = await this.service.wallet.post('wallet/getdelegatedresourcev2', {
      fromAddress: this.service.poolWallets[index]!.address,
      toAddress: receiver,
      visible: true,
    });
    const rows = (answer['delegatedResource'] ?? []) as { frozen_balance_for_energy?: number }[];
    return rows.reduce((sum, row) => sum + (row.frozen_balance_for_energy ?? 0), 0);
  }

  /** Sets fault rules of the node through its control port. Returns their ids. */
  async faults(rules: readonly Readonly<Record<string, unknown>>[]): Promise<readonly number[]> {
    const { added } = (await this.control('faults', { faults: rules })) as { added: readonly { id: number }[] };
    return added.map(({ id }) => id);
  }

  async clearFault(id: number | undefined): Promise<void> {
    await this.control('faults/clear', { id });
  }

  private async control(action: string, body: object): Promise<unknown> {
    const response = await fetch(`${this.service.controlUrl}/${action}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5000),
    });
    return response.json();
  }

  /** Changes rows in one transaction with triggers off, as a manual change of the database would. */
  async byHand(...statements: string[]): Promise<void> {
    await asAdmin(this.service.databaseUrl, async (client) => {
      await client.query('SET session_replication_role = replica');
      await client.query('BEGIN');
      for (const statement of statements) await client.query(statement);
      await client.query('COMMIT');
    });
  }

  async metric(name: string, worker = this.worker): Promise<string[]> {
    const text = await worker.get(Metrics).registry.getSingleMetricAsString(name);
    return text.split('\n').filter((line) => !line.startsWith('#'));
  }
}

export function namesOf(report: Report): string[] {
  return [...new Set(findingsOf(report).map((finding) => finding.check))].sort();
}
