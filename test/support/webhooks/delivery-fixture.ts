// Webhook tests with a sender: a webhook fixture, receivers, and senders that step on demand.
import type { INestApplicationContext } from '@nestjs/common';
import type { Database } from '../../../src/platform/database/database.js';
import type { HmacCustomer } from '../api/client.js';
import { openReceivers, type Receivers, type Taken } from './receivers.js';
import { openSender, type TestSender } from './sender.js';
import { openWebhookFixture, type WebhookFixture } from './webhook-fixture.js';

interface Row {
  readonly id: bigint;
  readonly status: string;
  readonly attempts: number;
  readonly wait_sec: number | null;
  readonly fault: string | null;
  readonly answer: string | null;
  readonly position: bigint;
}

interface NewEndpoint {
  readonly customer: HmacCustomer;
  readonly id: string;
  readonly secret: string;
}

export class DeliveryFixture {
  private readonly senders: INestApplicationContext[] = [];
  private addresses = 0;

  constructor(
    readonly fixture: WebhookFixture,
    readonly receivers: Receivers,
  ) {}

  get database(): Database {
    return this.fixture.api.database;
  }

  async openSender(extra: Record<string, string> = {}): Promise<TestSender> {
    const sender = await openSender(this.fixture.env, { ...this.receivers.env, ...extra });
    this.senders.push(sender.app);
    return sender;
  }

  /** Creates an endpoint on its own address, so that tests do not share the rate limit of an address. */
  async setUp(path: string, more: object = {}): Promise<NewEndpoint> {
    const customer = await this.fixture.newCustomer();
    this.addresses += 1;
    const host = `127.0.${Math.floor(this.addresses / 200).toString()}.${((this.addresses % 200) + 2).toString()}`;
    const url = `http://${host}:${this.receivers.port.toString()}${path}`;
    const types = ['project.frozen', 'project.unfrozen'];
    return { customer, ...(await this.fixture.newWebhook(customer, { url, types, ...more })) };
  }

  at(path: string): Taken[] {
    return this.receivers.taken.filter((each) => each.path === path);
  }

  async rowsOf(id: string): Promise<Row[]> {
    return this.database.query<Row>(
      `SELECT id, status, attempts, extract(epoch FROM next_at - attempted_at)::float8 AS wait_sec, fault, answer, position
         FROM webhook_delivery WHERE endpoint_id = $1 ORDER BY id`,
      [id],
    );
  }

  async areAll(id: string, status: string): Promise<boolean> {
    return (await this.rowsOf(id)).every((row) => row.status === status);
  }

  async heldBy(id: string): Promise<string | null> {
    const [row] = await this.database.query<{ holder: string | null }>(
      `SELECT holder FROM webhook_state WHERE endpoint_id = $1`,
      [id],
    );
    return row!.holder;
  }

  /** Makes all pending deliveries of an endpoint due. */
  async hurry(id: string): Promise<void> {
    await this.database.query(
      `WITH d AS (UPDATE webhook_delivery SET next_at = clock_timestamp() WHERE endpoint_id = $1 AND status = 'pending')
       UPDATE webhook_state SET due_at = clock_timestamp() WHERE endpoint_id = $1`,
      [id],
    );
  }

  /** Ends all pending deliveries, so that the next test has none. */
  async endAll(): Promise<void> {
    await this.database
      .query(`UPDATE webhook_delivery SET status = 'dropped', next_at = NULL, ended_at = now(), is_fresh = false
      WHERE status = 'pending'`);
    await this.database.query(
      `UPDATE webhook_state SET due_at = NULL, lease_until = NULL, holder = NULL, fence = fence + 1`,
    );
    for (const sender of this.senders.splice(0)) await sender.close();
    this.receivers.taken.length = 0;
    this.receivers.answers.clear();
  }

  async close(): Promise<void> {
    await this.fixture.close();
    await this.receivers.close();
  }
}

export async function openDeliveryFixture(): Promise<DeliveryFixture> {
  const receivers = await openReceivers();
  const fixture = await openWebhookFixture({
    WEBHOOK_PORTS: [receivers.port, receivers.tlsPort].join(','),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  });
  return new DeliveryFixture(fixture, receivers);
}
