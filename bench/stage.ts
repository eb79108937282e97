// What is measured: a world with one API whose limits are lifted, 200 projects with credits, and signed requests.
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { INestApplicationContext } from '@nestjs/common';
import type autocannon from 'autocannon';
import type { World as WorldType } from '../src/local/world.js';
import type { Credits } from '../src/money/units.js';
import type { BareSettings } from './bare-server.js';
import { Database, freePort, Ledger, openParts, Projects, startNode, World } from './dist.js';

export const PROJECTS = 200;
const CREDITS = 1_000_000_000_000_000n as Credits;
const AUTHOR = { actor: 'bench', reason: 'bench' };

export interface Tenant {
  readonly id: string;
  readonly apiKey: string;
}

export interface StageOptions {
  readonly blockMs: number;
  readonly solidLag: number;
  /** Instead of DATABASE_URL or a server of its own. */
  readonly databaseUrl?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export class Stage {
  private constructor(
    readonly world: WorldType,
    readonly parts: INestApplicationContext,
    readonly tenants: readonly Tenant[],
    readonly apiUrl: string,
    readonly apiPid: number,
  ) {}

  static async open(options: StageOptions): Promise<Stage> {
    const world = await World.start({
      blockMs: options.blockMs,
      solidLag: options.solidLag,
      durable: true,
      databaseUrl: options.databaseUrl ?? process.env['DATABASE_URL'],
      redisUrl: process.env['REDIS_URL'],
      // Enough stake for a soak: at nine energy per TRX an order of 65 000 takes some 7 240 TRX.
      poolStakesTrx: [1_500_000_000, 1_500_000_000, 1_500_000_000, 1_500_000_000],
      env: {
        LOG_LEVEL: 'warn',
        RATE_LIMIT_PER_MINUTE: '10000000',
        BAD_SIGNATURES_PER_MINUTE: '10000000',
        ...options.env,
      },
    });
    const parts = await openParts({ ...process.env, ...world.env });
    const tenants: Tenant[] = [];
    for (let index = 0; index < PROJECTS; index += 1) {
      const { id, apiKey } = await parts.get(Projects).create(`bench ${index.toString()}`, { kind: 'prepaid' }, AUTHOR);
      await parts.get(Ledger).topUp(id, CREDITS, `bench-${id}`, AUTHOR);
      tenants.push({ id, apiKey });
    }
    // Info: the line that says where it listens is one.
    const api = await world.startApi(await freePort(), { LOG_LEVEL: 'info' });
    return new Stage(world, parts, tenants, api.baseUrl, api.process.pid);
  }

  get database(): InstanceType<typeof Database> {
    return this.parts.get(Database);
  }

  get sender(): string {
    return this.world.accounts[0]?.address ?? '';
  }

  tenant(index: number): Tenant {
    const tenant = this.tenants[index % this.tenants.length];
    if (tenant === undefined) throw new Error('no tenants');
    return tenant;
  }

  /** A signed request; the signature covers the body only, so one serves for every sending. */
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

  /** One request outside any measurement. */
  async send(request: autocannon.Request): Promise<{ status: number; text: string }> {
    const response = await fetch(this.apiUrl + (request.path ?? ''), {
      method: request.method ?? 'GET',
      headers: request.headers!,
      ...(request.body === undefined ? {} : { body: request.body }),
      signal: AbortSignal.timeout(20_000),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Starts the bare handlers beside the API; resolves with their base URL. */
  async startBare(settings: Omit<BareSettings, 'databaseUrl' | 'poolMax' | 'projects' | 'receiver'>): Promise<string> {
    const port = await freePort();
    const bare: BareSettings = {
      databaseUrl: this.world.databaseUrl,
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
    this.world.processes.push(process);
    return `http://127.0.0.1:${port.toString()}`;
  }

  async close(): Promise<void> {
    await this.parts.close();
    await this.world.stop();
  }
}
