// Verifies received webhooks with the public library, and compares them with each project's log at the end. Every event
// of every order must arrive at least once, byte for byte and signed, and nothing else may arrive.
import { Webhook } from 'standardwebhooks';
import type { Taken } from './receivers.js';

export interface JudgedEndpoint {
  readonly id: string;
  readonly projectId: string;
  readonly secret: string;
  /** All types by default. */
  readonly types?: readonly string[];
}

/** Reads rows of the judged database. */
export type ReadRows = <Row extends object>(text: string, params: unknown[]) => Promise<Row[]>;

/** An event as one endpoint received it. */
interface Got {
  readonly body: string;
  times: number;
  readonly atMs: number;
}

interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly order?: { readonly id: number; readonly status: string; readonly settled: boolean } };
}

/** The order's state at each event type. */
const STATES: Readonly<Record<string, { readonly status: string; readonly settled: boolean }>> = {
  'order.created': { status: 'reserved', settled: false },
  'order.delivered': { status: 'delivered', settled: false },
  'order.settled': { status: 'delivered', settled: true },
  'order.unresolved': { status: 'unresolved', settled: false },
  'order.refunded': { status: 'refunded', settled: true },
};

interface LoggedEvent {
  readonly key: string;
  readonly type: string;
  readonly payload: string;
  /** Status of the delivery; null without one. */
  readonly status: string | null;
  readonly attempts: number | null;
  /** Of the endpoint's types, and numbered while the endpoint existed. */
  readonly isWanted: boolean;
}

const SHOWN_MAX = 5;

/** From its own creation on, an endpoint receives every event of its types. A null $3 selects all types. */
const LOGGED = `SELECT e.payload::json ->> 'id' AS key, e.type, e.payload, d.status, d.attempts,
    ($3::text[] IS NULL OR e.type = ANY ($3)) AND e.position >= (
      SELECT min(c.position) FROM event c WHERE c.project_id = $2 AND c.type = 'webhook.created'
         AND c.payload::json #>> '{data,webhook,id}' = $1::text) AS "isWanted"
  FROM event e LEFT JOIN webhook_delivery d ON d.event_id = e.id AND d.endpoint_id = $1::uuid AND d.cause = 'event'
 WHERE e.project_id = $2 AND e.position IS NOT NULL ORDER BY e.position`;

/** Derived from the orders alone: the events that their owner must have received by now. */
const OWED = `SELECT o.id::text AS id, array_remove(ARRAY['order.created',
      CASE WHEN o.status = 'delivered' THEN 'order.delivered' END,
      CASE WHEN o.status = 'delivered' THEN 'order.settled' END,
      CASE WHEN o.status = 'refunded' THEN 'order.refunded' END], NULL) AS types
    FROM orders o WHERE o.project_id = $2 AND o.settled
     AND o.created_at > (SELECT created_at FROM webhook_endpoint WHERE id = $1::uuid)`;

export class WebhookJudge {
  /** Errors of requests, found on arrival. */
  readonly wrongs: string[] = [];
  private readonly got = new Map<string, Map<string, Got>>();
  private excusedUntilMs = Number.NEGATIVE_INFINITY;

  /** Number of received events, each counted once per endpoint. */
  get count(): number {
    return [...this.got.values()].reduce((sum, events) => sum + events.size, 0);
  }

  /**
   * Verifies a request with its endpoint's secret. Returns how often its event has arrived there, or 0 if it is
   * invalid.
   */
  take({ id, secret }: JudgedEndpoint, { headers, body }: Taken): number {
    const key = headers['webhook-id'] ?? '';
    let event: SentEvent;
    try {
      event = new Webhook(secret).verify(body, headers) as SentEvent;
      if (event.id !== key) throw new Error(`it holds ${event.id}`);
    } catch (error) {
      this.wrongs.push(`webhook ${id} got ${key} unsigned: ${String(error)}`);
      return 0;
    }
    const events = this.got.get(id) ?? new Map<string, Got>();
    this.got.set(id, events);
    const before = events.get(key);
    const { type, data } = event;
    const found = data.order === undefined ? undefined : STATES[type];
    if (found !== undefined && (data.order?.status !== found.status || data.order.settled !== found.settled)) {
      this.wrongs.push(`webhook ${id} got ${key}, a ${type} of an order that is ${JSON.stringify(data.order)}`);
    }
    if (before !== undefined && before.body !== body) this.wrongs.push(`webhook ${id} got ${key} in two versions`);
    const one = before ?? { body, times: 0, atMs: performance.now() };
    one.times += 1;
    events.set(key, one);
    return one.times;
  }

  /** After a failover that lost commits: an event from before `ms` (monotonic clock) may be missing from the log. */
  excuseUntil(ms: number): void {
    this.excusedUntilMs = ms;
  }

  /** Returns missing, altered and unexpected events of one endpoint. Empty when all is well. */
  async holdAgainst(endpoint: JudgedEndpoint, read: ReadRows): Promise<string[]> {
    const { id, types } = endpoint;
    const got = this.got.get(id) ?? new Map<string, Got>();
    const logged = await read<LoggedEvent>(LOGGED, paramsOf(endpoint));
    const byKey = new Map(logged.map((each) => [each.key, each]));
    const wrongs: string[] = [];
    for (const { key, type, payload, status, attempts, isWanted } of logged) {
      const one = got.get(key);
      const says = `${key} (${type}, ${status ?? 'no delivery'}, ${(attempts ?? 0).toString()} attempts)`;
      if (one !== undefined && types?.includes(type) === false)
        wrongs.push(`webhook ${id} got ${says} although it wants none such`);
      if (one === undefined) {
        if (isWanted) wrongs.push(`webhook ${id} never got ${says}`);
      } else if (one.body !== payload) wrongs.push(`webhook ${id} got ${says} with another content than the log’s`);
    }
    for (const [key, { atMs }] of got) {
      if (!byKey.has(key) && atMs > this.excusedUntilMs)
        wrongs.push(`webhook ${id} got ${key}, which its project’s log has not`);
    }
    wrongs.push(...(await this.missingOf(endpoint, got, read)));
    return wrongs.length <= SHOWN_MAX
      ? wrongs
      : [...wrongs.slice(0, SHOWN_MAX), `webhook ${id}: ${wrongs.length.toString()} such faults`];
  }

  /** Counts events received more often than recorded attempts, as after a crash between answer and record. */
  async repeatsOf(endpoint: JudgedEndpoint, read: ReadRows): Promise<number> {
    const attempts = new Map(
      (await read<LoggedEvent>(LOGGED, paramsOf(endpoint))).map((each) => [each.key, each.attempts ?? 0]),
    );
    return [...(this.got.get(endpoint.id) ?? [])].reduce(
      (sum, [key, { times }]) => sum + Math.max(0, times - (attempts.get(key) ?? 0)),
      0,
    );
  }

  private async missingOf(
    { id, projectId, types: wanted }: JudgedEndpoint,
    got: ReadonlyMap<string, Got>,
    read: ReadRows,
  ): Promise<string[]> {
    const received = new Set(
      [...got.values()].map(({ body }) => {
        const { type, data } = JSON.parse(body) as SentEvent;
        return `${data.order?.id.toString() ?? ''} ${type}`;
      }),
    );
    const owed = await read<{ id: string; types: readonly string[] }>(OWED, [id, projectId]);
    return owed.flatMap((order) =>
      order.types
        .filter((type) => wanted?.includes(type) !== false && !received.has(`${order.id} ${type}`))
        .map((type) => `webhook ${id} never got ${type} of order ${order.id}`),
    );
  }
}

const paramsOf = ({ id, projectId, types }: JudgedEndpoint): unknown[] => [id, projectId, types ?? null];
