// The measured cluster: one API without rate limits, 200 projects with credits, and signed requests.
import { createHash, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { INestApplicationContext } from '@nestjs/common';
import type autocannon from 'autocannon';
import { freePort } from '../../../packages/local/src/ports.js';
import { startNode } from '../../../packages/local/src/processes.js';
import { LocalService } from '../../../packages/local/src/local-service.js';
import { addressFromBytes } from '../../../src/platform/chain/address.js';
import type { Credits } from '../../../src/domain/units.js';
import type { BareSettings } from './bare-server.js';
import { asAdmin, databaseUrl } from '../../setup/admin.js';
import { onEarlierSchema } from '../upgrade/early-schema.js';
import { withRedis } from '../../setup/redis.js';
import { Database, Ledger, openParts, Projects } from './dist.js';

const PROJECTS = 200;
const CREDITS = 1_000_000_000_000_000n as Credits;
const CHECKPOINT_LIMIT_MS = 120_000;
const AUTHOR = { actor: 'bench', reason: 'bench' };

export interface Tenant {
  readonly id: string;
  readonly apiKey: string;
}

export interface BenchClusterOptions {
  readonly blockMs: number;
  readonly solidLag: number;
  /** Server to use instead of DATABASE_URL's or an own one. */
  readonly databaseUrl?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Settings of an own server. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** Folder of another build, instead of the repository. */
  readonly build?: string;
  /** True if that build has an older schema. */
  readonly hasEarlierSchema?: boolean;
  /** Addresses that rentals go to in turn; the default is one. */
  readonly receivers?: number;
  /** Credits of each project; the default exceeds any row's spending. */
  readonly credits?: Credits;
}

/** A database and a Redis prefix of the cluster's own on given servers; other data there is not touched. */
class Stores {
  readonly name = `bench_${randomBytes(6).toString('hex')}`;

  private constructor(
    private readonly server: string | undefined,
    readonly redisUrl: string | undefined,
  ) {}

  static async open(server: string | undefined, redisUrl: string | undefined): Promise<Stores> {
    const stores = new Stores(server, redisUrl);
    await stores.asAdmin(`CREATE DATABASE ${stores.name}`);
    return stores;
  }

  get databaseUrl(): string | undefined {
    return this.server === undefined ? undefined : databaseUrl(this.server, this.name);
  }

  /** Drops them; they must be unused. */
  async clear(): Promise<void> {
    await this.asAdmin(`DROP DATABASE ${this.name} WITH (FORCE)`);
    if (this.redisUrl === undefined || this.redisUrl === 'embedded') return;
    await withRedis(this.redisUrl, async (redis) => {
      for await (const keys of redis.scanStream({ match: `${this.name}*`, count: 1000 }) as AsyncIterable<string[]>) {
        if (keys.length > 0) await redis.unlink(keys);
      }
    });
  }

  /** Uses a longer timeout: both statements write a checkpoint, which is slow after a load. */
  private async asAdmin(text: string): Promise<void> {
    const statement = { text, query_timeout: CHECKPOINT_LIMIT_MS };
    if (this.server !== undefined) await asAdmin(this.server, (client) => client.query(statement));
  }
}

export class BenchCluster {
  private constructor(
    readonly service: LocalService,
    readonly parts: INestApplicationContext,
    readonly tenants: readonly Tenant[],
    readonly apiUrl: string,
    readonly apiPid: number,
    private readonly receivers: readonly string[],
    private readonly stores: Stores,
  ) {}

  static async open(options: BenchClusterOptions): Promise<BenchCluster> {
    const stores = await Stores.open(options.databaseUrl ?? process.env['DATABASE_URL'], process.env['REDIS_URL']);
    try {
      return await BenchCluster.openOn(stores, options);
    } catch (error) {
      await stores.clear();
      throw error;
    }
  }

  private static async openOn(stores: Stores, options: BenchClusterOptions): Promise<BenchCluster> {
    const receivers = Array.from({ length: options.receivers ?? 0 }, () =>
      addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(20)])),
    );
    const service = await LocalService.start({
      ...(receivers.length > 0 && {
        past: { fromMs: Date.now(), accounts: receivers.map((address) => ({ address, trx: 1 })) },
      }),
      ...(options.build === undefined ? {} : { build: options.build }),
      blockMs: options.blockMs,
      solidLag: options.solidLag,
      durable: true,
      postgresSettings: options.postgresSettings,
      databaseUrl: stores.databaseUrl,
      redisUrl: stores.redisUrl,
      // Enough stake for a soak: at nine energy per TRX an order of 65 000 takes some 7 240 TRX.
      poolStakesTrx: [1_500_000_000, 1_500_000_000, 1_500_000_000, 1_500_000_000],
      env: {
        LOG_LEVEL: 'warn',
        RATE_LIMIT_PER_MINUTE: '10000000',
        BAD_SIGNATURES_PER_MINUTE: '10000000',
        REDIS_PREFIX: stores.name,
        ...options.env,
      },
      // Prints errors next to the figures.
      onLine: (name, line) => {
        if (/"level":(?:50|60|"error"|"fatal")/.test(line)) console.error(`  ${name}: ${line}`);
      },
    });
    const open = (): Promise<INestApplicationContext> => openParts({ ...process.env, ...service.env });
    const isEarlier = options.hasEarlierSchema ?? false;
    const parts = await (isEarlier ? onEarlierSchema(service.databaseUrl, open) : open());
    const tenants: Tenant[] = [];
    for (let index = 0; index < PROJECTS; index += 1) {
      const { id, apiKey } = await parts.get(Projects).create(`bench ${index.toString()}`, { kind: 'prepaid' }, AUTHOR);
      await parts.get(Ledger).topUp(id, options.credits ?? CREDITS, `bench-${id}`, AUTHOR);
      tenants.push({ id, apiKey });
    }
    // The line with the listening address has level info.
    const api = await service.startApi(await freePort(), { LOG_LEVEL: 'info' });
    const cluster = new BenchCluster(service, parts, tenants, api.baseUrl, api.process.pid, receivers, stores);
    await cluster.sellWithoutWorker();
    return cluster;
  }

  get database(): InstanceType<typeof Database> {
    return this.parts.get(Database);
  }

  /** Keeps the pool selling: request rows run without a worker that reads the wallets. */
  async sellWithoutWorker(): Promise<void> {
    await this.database.query(`UPDATE pool_wallet SET sells_until = clock_timestamp() + interval '1 day'`);
  }

  get sender(): string {
    return this.service.accounts[0]?.address ?? '';
  }

  /** Returns the address that a rental goes to. */
  receiver(index: number): string {
    return this.receivers[index % this.receivers.length] ?? this.sender;
  }

  tenant(index: number): Tenant {
    const tenant = this.tenants[index % this.tenants.length];
    if (tenant === undefined) throw new Error('no tenants');
    return tenant;
  }

  /** Creates a project without credits. */
  async poorTenant(index: number): Promise<Tenant> {
    return this.parts.get(Projects).create(`poor ${index.toString()}`, { kind: 'prepaid' }, AUTHOR);
  }

  /** Returns a signed request. The signature covers the body only, so the request can be sent repeatedly. */
  request(
    tenant: Tenant,
    method: 'GET' | 'POST',
    path: string,
    body?: Readonly<Record<string, unknown>>,
  ): autocannon.Request & { headers: Record<string, string> } {
    const text = body === undefined ? '' : JSON.stringify(Object.fromEntries(Object.entries(body).sort()));
    const signature = createHash('md5')
      .update(Buffer.from(text).toString('base64') + tenant.apiKey)
      .digest('hex');
    return {
      method,
      path,
      headers: {
        Merchant: tenant.id,
        Signature: signature,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: text }),
    };
  }

  /** Sends one request outside any measurement, to this API or another of the same service. */
  async send(request: autocannon.Request, apiUrl = this.apiUrl): Promise<{ status: number; text: string }> {
    const response = await fetch(apiUrl + (request.path ?? ''), {
      method: request.method ?? 'GET',
      headers: request.headers!,
      ...(request.body === undefined ? {} : { body: request.body }),
      signal: AbortSignal.timeout(20_000),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Starts the bare handlers next to the API and returns their base URL. */
  async startBare(settings: Omit<BareSettings, 'databaseUrl' | 'poolMax' | 'projects' | 'receiver'>): Promise<string> {
    const port = await freePort();
    const bare: BareSettings = {
      databaseUrl: this.service.databaseUrl,
      poolMax: 16,
      projects: this.tenants.map((tenant) => tenant.id),
      receiver: this.sender,
      ...settings,
    };
    const process = await startNode<true>(fileURLToPath(new URL('run.mjs', import.meta.url)), {
      name: 'bare server',
      args: ['bare-server'],
      env: { BARE: JSON.stringify(bare), PORT: port.toString() },
      readyWhen: (line) => (line.includes('listening') ? true : undefined),
    });
    this.service.processes.push(process);
    return `http://127.0.0.1:${port.toString()}`;
  }

  async close(): Promise<void> {
    await this.parts.close();
    await this.service.stop();
    await this.stores.clear();
  }
}
