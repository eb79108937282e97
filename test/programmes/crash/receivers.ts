// The merchant's webhook receivers in the crash programme: steady ones that accept everything, and one with TLS that
// sometimes fails the first attempt. Their deliveries are compared with the event log at the end. Together they
// subscribe to every type. Each has its own host, since a host receives at most twenty requests a second.
import { until } from '../../../packages/local/src/wait.js';
import type { LocalService } from '../../../packages/local/src/local-service.js';
import { EVENT_TYPES, type EventType } from '../../../src/domain/event-types.js';
import type { Database } from '../../../src/platform/database/database.js';
import type { Webhooks } from '../../../src/modules/webhooks/webhooks.js';
import { WebhookJudge, type JudgedEndpoint, type ReadRows } from '../../support/webhooks/webhook-judge.js';
import { openReceivers, type Receivers } from '../../support/webhooks/receivers.js';

/** One in so many events fails at its first attempt. */
const FAILS_OF = 7;
/** Concurrent deliveries of one sender to one endpoint: the most that its death can leave unrecorded. */
const AT_ONCE_MAX = 10;
const OFTEN: readonly EventType[] = ['order.created', 'order.delivered', 'order.settled'];
const STEADY: readonly (readonly EventType[])[] = [
  ...OFTEN.map((type) => [type]),
  EVENT_TYPES.filter((type) => !OFTEN.includes(type)),
];
const FLAKY: readonly EventType[] = ['order.settled', 'order.refunded'];
/** Type of the endpoint that has deliveries only on request. */
const CALM: readonly EventType[] = ['webhook.changed'];

const WAITING = `SELECT (SELECT count(*) FROM event WHERE position IS NULL AND type IS NOT NULL)::int
    + (SELECT count(*) FROM webhook_delivery WHERE status = 'pending')::int AS left`;

/** Without a death each attempt is recorded, and the second one succeeds. */
const ATTEMPTS = `SELECT max(attempts) AS most, bool_and(status = 'delivered') AS "areDelivered" FROM webhook_delivery
  WHERE endpoint_id = $1`;

/** Null if there is no delivery. */
interface Attempted {
  readonly most: number | null;
  readonly areDelivered: boolean | null;
}

interface Endpoint extends JudgedEndpoint {
  readonly attemptsMax: number;
}

export class CrashReceivers {
  private readonly judge = new WebhookJudge();
  private readonly endpoints: Endpoint[] = [];
  private changes = 0;

  private constructor(private readonly receivers: Receivers) {}

  static async open(): Promise<CrashReceivers> {
    return new CrashReceivers(await openReceivers());
  }

  /** Settings of the API, which validates URLs, and of the sender. */
  get env(): NodeJS.ProcessEnv {
    const { port, tlsPort, env } = this.receivers;
    return {
      WEBHOOK_PORTS: `${port.toString()},${tlsPort.toString()}`,
      WEBHOOK_ALLOW_HTTP: 'true',
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      SENDER_LEASE_SEC: '2',
      ...env,
    };
  }

  /** Creates the project's webhooks. */
  async subscribe(service: LocalService, projectId: string): Promise<void> {
    const { port, tlsPort } = this.receivers;
    for (const [index, types] of [...STEADY, CALM].entries()) {
      const path = `/steady-${index.toString()}`;
      const url = `http://127.0.78.${(index + 1).toString()}:${port.toString()}${path}`;
      const endpoint = await this.make(service, projectId, url, types, 1);
      this.receivers.answers.set(path, (taken, response) => {
        this.judge.take(endpoint, taken);
        response.writeHead(204).end();
      });
    }
    let firsts = 0;
    const flaky = await this.make(service, projectId, `https://shop.example.com:${tlsPort.toString()}/flaky`, FLAKY, 2);
    this.receivers.answers.set('/flaky', (taken, response) => {
      const isFirst = this.judge.take(flaky, taken) === 1;
      if (isFirst) firsts += 1;
      response.writeHead(isFirst && firsts % FAILS_OF === 0 ? 500 : 204).end();
    });
  }

  private async make(
    service: LocalService,
    projectId: string,
    url: string,
    types: readonly EventType[],
    attemptsMax: number,
  ): Promise<Endpoint> {
    const asked = ['webhooks', 'create', projectId, '--url', url, ...types.flatMap((type) => ['--type', type])];
    const { webhook, secret } = await service.cli(...asked);
    const endpoint = { id: String(webhook), projectId, secret: String(secret), types, attemptsMax };
    this.endpoints.push(endpoint);
    return endpoint;
  }

  /**
   * Creates an event for the calm endpoint. A sender claims that endpoint, serves it and releases it; it keeps busy
   * ones.
   */
  async stir(webhooks: Webhooks): Promise<void> {
    this.changes += 1;
    const calm = this.endpoints.find(({ types }) => types === CALM);
    if (calm === undefined) return;
    const description = `change ${this.changes.toString()}`;
    await webhooks.change(calm.projectId, calm.id, { description }, () => Promise.resolve());
  }

  /** Waits until every event has its position and no delivery is pending. */
  async untilSent(database: Database, limitMs: number): Promise<void> {
    const isSent = async (): Promise<true | undefined> => {
      const [row] = await database.query<{ left: number }>(WAITING);
      return row?.left === 0 ? true : undefined;
    };
    await until(isSent, limitMs, 'every delivery', 200);
  }

  /** Returns the violations, given the number of senders that died. */
  async violations(database: Database, deaths: number): Promise<string[]> {
    const read: ReadRows = async <Row extends object>(text: string, params: unknown[]) =>
      database.query<Row>(text, params);
    const found = [...this.judge.wrongs];
    for (const endpoint of this.endpoints) {
      found.push(...(await this.judge.holdAgainst(endpoint, read)));
      const repeats = await this.judge.repeatsOf(endpoint, read);
      if (repeats > deaths * AT_ONCE_MAX) {
        found.push(`webhook ${endpoint.id} got ${repeats.toString()} repetitions by ${deaths.toString()} deaths`);
      }
      const [row] = await database.query<Attempted>(ATTEMPTS, [endpoint.id]);
      // Missing deliveries are detected above; some event types may not have occurred.
      if (row?.areDelivered === false || (row?.most ?? 0) > endpoint.attemptsMax) {
        found.push(
          `webhook ${endpoint.id}: ${JSON.stringify(row)}, at most ${endpoint.attemptsMax.toString()} attempts`,
        );
      }
    }
    return found;
  }

  async close(): Promise<void> {
    await this.receivers.close();
  }
}
