// Projects that are ready to go live: each has bought, paid in and received an event. Tests of `project check` break
// one thing.
import { until } from '../../../packages/local/src/wait.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { hmacHeaders, HmacCustomer, send } from '../../support/api/client.js';
import { XPUB } from '../../support/chain/deposits-on-chain.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { cliWith, type Cli } from '../../support/cli.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { asAdmin } from '../../setup/admin.js';

const LIMIT_MS = 20_000;

export interface Ready {
  readonly merchant: string;
  readonly customer: HmacCustomer;
  readonly webhook: string;
}

export class ReadyProjects {
  private made = 0;

  private constructor(
    readonly fixture: OrderFixture,
    readonly cli: Cli,
  ) {}

  static async open(): Promise<ReadyProjects> {
    const fixture = await openOrderFixture({ DEPOSIT_XPUB: XPUB });
    const projects = new ReadyProjects(fixture, cliWith({ ...fixture.env, DEPOSIT_XPUB: XPUB, USER: 'tester' }));
    await projects.run('deposits', 'use-account', '--yes', '--reason', 'a test');
    // The API refuses signatures from the second in which Redis started, so this waits for the first accepted request.
    const { merchant, apiKey, baseUrl } = await makeCustomer(fixture.api);
    const isTaken = async (): Promise<true | undefined> => {
      const headers = hmacHeaders(merchant, apiKey, { method: 'GET', path: '/v1/balance' });
      return (await send(baseUrl, 'GET', '/v1/balance', headers)).status === 200 ? true : undefined;
    };
    await until(isTaken, LIMIT_MS, 'a request being taken');
    return projects;
  }

  /** Runs a command that must succeed. */
  async run(...args: string[]): Promise<string> {
    const { code, out, err } = await this.cli(...args);
    expect({ args, code, err }).toEqual({ args, code: 0, err: '' });
    return out;
  }

  /** Changes rows with triggers off, to states that only time, other processes or the chain can cause. */
  async sql(text: string, parameters: readonly unknown[]): Promise<void> {
    await asAdmin(this.fixture.env['DATABASE_URL']!, async (client) => {
      await client.query(`SET session_replication_role = replica`);
      await client.query(text, [...parameters]);
    });
  }

  async buy({ customer }: Ready, key?: string): Promise<void> {
    const order = { receive_address: this.fixture.receiver(), energy: 65_000 };
    expect((await customer.post('/v1/orders', order, key === undefined ? {} : withKey(key))).status).toBe(202);
  }

  async create(): Promise<Ready> {
    this.made += 1;
    const { merchant, apiKey, baseUrl } = await makeCustomer(this.fixture.api);
    const customer = new HmacCustomer(baseUrl, merchant, apiKey);
    const bounds = ['--daily-cap', '500000000', '--low-balance', '100000000'];
    await this.run(
      'project',
      'options',
      merchant,
      '--signatures',
      'hmac',
      '--require-idempotency-key',
      'on',
      ...bounds,
    );
    const shown = await this.cli('webhooks', 'create', merchant, '--url', 'https://shop.example.com/energy', '--json');
    const { webhook } = shown.json() as { webhook: string };
    const ready = { merchant, customer, webhook };
    await this.buy(ready, 'payout-1');
    const numberer = new Numberer(this.fixture.api.database, new Metrics(), openLog('silent'));
    while ((await numberer.numberBatch()) > 0);
    await this.sql(
      `UPDATE webhook_delivery SET status = 'delivered', next_at = NULL, ended_at = clock_timestamp(), answer_status = 204
        WHERE endpoint_id = $1`,
      [webhook],
    );
    await this.sql(
      `INSERT INTO deposit (project_id, txid, kind, place, asset, amount, address, from_address, status, credits, entry_key,
       rate_e8, block_number, block_id, block_at)
     SELECT $1, decode(lpad(to_hex($2::int), 64, '0'), 'hex'), 'native', 0, 'TRX', 1, address, address, 'credited', 1, 'deposit:' || $2,
       30000000, 1, decode(repeat('01', 32), 'hex'), clock_timestamp() FROM deposit_address WHERE project_id = $1`,
      [merchant, this.made],
    );
    await this.sql(`UPDATE api_key SET last_used_at = clock_timestamp() WHERE project_id = $1`, [merchant]);
    return ready;
  }
}
