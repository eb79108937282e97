// Webhook receivers of every project: one is down for a while, one is slow, one misbehaves. Afterwards each must have
// received every event of its project, signed, and nothing else.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { INestApplicationContext } from '@nestjs/common';
import { sleep } from '../../../src/platform/support/clock.js';
import { WebhookDeliveries } from '../../../src/modules/webhooks/webhook-deliveries.js';
import { Webhooks } from '../../../src/modules/webhooks/webhooks.js';
import { WebhookJudge, type JudgedEndpoint, type ReadRows } from '../../support/webhooks/webhook-judge.js';

/** A receiver's behaviour during its fault; otherwise it accepts everything. */
export type Manner = 'away' | 'slow' | 'lying';

interface Place extends JudgedEndpoint {
  readonly manner: Manner | 'steady';
}

/**
 * The misbehaving receiver's answers to first attempts, in rotation. It accepts the second attempt, so that no event
 * waits for minutes.
 */
const LIES: readonly ((response: ServerResponse, receivers: ChaosReceivers) => void)[] = [
  (response) => response.writeHead(500).end('a fault'),
  (response, { elsewhere }) => response.writeHead(302, { Location: elsewhere }).end(),
  // 200, after the sender has given up.
  (response, { held }) => void held.add(response),
  (response) => response.writeHead(503).end(Buffer.alloc(HUGE_BYTES, 'x')),
  (response) => response.writeHead(200).end(Buffer.alloc(HUGE_BYTES, 'x')),
  (response) => {
    response.writeHead(200, { 'Content-Length': 1000 }).write('cut off');
    response.destroy();
  },
  (response) => response.writeHead(200, { 'X-Long': 'x'.repeat(HEADER_BYTES) }).end(),
];

const HUGE_BYTES = 5_000_000;
const HEADER_BYTES = 60_000;
const SLOW_MS = 1_500;
const SLOW_STEPS = 10;
const QUIET_MS = 12_000;
/** Events read by the sender before commits were lost may still arrive within the duration of an attempt. */
const ATTEMPT_MS = 16_000;
const LEFT = `SELECT (SELECT count(*) FROM event WHERE position IS NULL AND type IS NOT NULL)::int
    + (SELECT count(*) FROM webhook_delivery WHERE status = 'pending')::int AS left`;
const RESTING = `SELECT d.id::text AS id, d.endpoint_id AS endpoint, e.project_id AS project
    FROM webhook_delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
   WHERE d.status = 'pending' AND d.next_at > now() + interval '1 second' ORDER BY d.id LIMIT 200`;

export class ChaosReceivers {
  /** Answers held back until too late, or for ever. */
  readonly held = new Set<ServerResponse>();
  private readonly judge = new WebhookJudge();
  private readonly places = new Map<string, Place>();
  private readonly misbehaving = new Set<Manner>();
  private readonly times: Record<Manner, number> = { away: 0, slow: 0, lying: 0 };
  private readonly servers: readonly [Server, Server];
  private lies = 0;

  private constructor() {
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('error', () => undefined);
      request.on('end', () => {
        this.answer(request, body, response);
      });
    };
    this.servers = [createServer(listener), createServer(listener)];
    this.servers[1].on('connection', (socket: Socket) => {
      if (!this.misbehaving.has('away')) return;
      this.times.away += 1;
      socket.destroy();
    });
  }

  static async open(): Promise<ChaosReceivers> {
    const receivers = new ChaosReceivers();
    for (const server of receivers.servers) {
      server.listen(0, '0.0.0.0');
      await once(server, 'listening');
    }
    return receivers;
  }

  /** Settings of the URL validation and of the sender. */
  get env(): NodeJS.ProcessEnv {
    return {
      WEBHOOK_PORTS: this.ports.join(','),
      WEBHOOK_ALLOW_HTTP: 'true',
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      SENDER_LEASE_SEC: '2',
      SENDER_STOP_SEC: '3',
    };
  }

  /** Target of a redirect, which must never be followed. */
  get elsewhere(): string {
    return `http://127.0.79.99:${(this.ports[0] ?? 0).toString()}/elsewhere`;
  }

  /**
   * Subscribes one endpoint for each behaviour. Each has its own host, since a host receives at most twenty requests a
   * second.
   */
  async subscribe(
    parts: INestApplicationContext,
    projectId: string,
    manners: readonly Place['manner'][],
  ): Promise<void> {
    for (const manner of manners) {
      const n = this.places.size + 1;
      const path = `/${n.toString()}/${manner}`;
      const port = this.ports[manner === 'away' ? 1 : 0] ?? 0;
      const url = `http://127.0.79.${n.toString()}:${port.toString()}${path}`;
      const webhooks = parts.get(Webhooks, { strict: false });
      const made = await webhooks.create(projectId, { url }, null, () => Promise.resolve());
      this.places.set(path, { ...made, projectId, manner });
    }
  }

  /** Misbehaves for this time, and longer until a request was affected. Returns the number of affected requests. */
  async misbehave(manner: Manner, lastsMs: number, over: AbortSignal): Promise<number> {
    const before = this.times[manner];
    this.misbehaving.add(manner);
    await sleep(lastsMs, over);
    for (let ms = 0; ms < QUIET_MS && this.times[manner] === before && !over.aborted; ms += 500) await sleep(500, over);
    this.misbehaving.delete(manner);
    return this.times[manner] - before;
  }

  /** From now on every answer is prompt and correct. */
  heal(): void {
    this.misbehaving.clear();
    for (const response of this.held) response.destroy();
    this.held.clear();
  }

  /** Excuses a loss of commits that includes sent events. */
  excuseLoss(): void {
    this.judge.excuseUntil(performance.now() + ATTEMPT_MS);
  }

  /** Resends deliveries that wait for their next attempt, as an owner would. Returns the number of unsent ones. */
  async hurry(parts: INestApplicationContext, read: ReadRows): Promise<number> {
    const deliveries = parts.get(WebhookDeliveries, { strict: false });
    for (const { id, endpoint, project } of await read<{ id: string; endpoint: string; project: string }>(
      RESTING,
      [],
    )) {
      await deliveries.resend(project, endpoint, BigInt(id), () => Promise.resolve());
    }
    const [row] = await read<{ left: number }>(LEFT, []);
    return row?.left ?? -1;
  }

  /** Events received by all endpoints together. */
  get count(): number {
    return this.judge.count;
  }

  /** Returns violations; empty if every event of every order arrived, signed, at its endpoint. */
  async violations(read: ReadRows): Promise<string[]> {
    const found = this.judge.wrongs.splice(0);
    for (const place of this.places.values()) found.push(...(await this.judge.holdAgainst(place, read)));
    return found;
  }

  async close(): Promise<void> {
    for (const server of this.servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  private get ports(): readonly number[] {
    return this.servers.map((server) => (server.address() as AddressInfo).port);
  }

  private answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    const path = request.url ?? '';
    const place = this.places.get(path);
    if (place === undefined) {
      this.judge.wrongs.push(`a request went to ${path}, where no webhook is`);
      response.writeHead(404).end();
      return;
    }
    const times = this.judge.take(place, { path, headers: request.headers as Record<string, string>, body });
    if (place.manner === 'slow' && this.misbehaving.has('slow')) this.answerSlowly(response);
    else if (place.manner === 'lying' && this.misbehaving.has('lying') && times === 1) this.lie(response);
    else response.writeHead(204).end();
  }

  private lie(response: ServerResponse): void {
    this.times.lying += 1;
    LIES[this.lies % LIES.length]?.(response, this);
    this.lies += 1;
  }

  /** Answers byte by byte. */
  private answerSlowly(response: ServerResponse): void {
    this.times.slow += 1;
    response.writeHead(200);
    let steps = 0;
    const timer = setInterval(() => {
      steps += 1;
      if (steps < SLOW_STEPS && !response.destroyed) {
        response.write('.');
        return;
      }
      clearInterval(timer);
      response.end();
    }, SLOW_MS / SLOW_STEPS);
  }
}
