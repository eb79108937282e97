// The demo merchant's webhook server. It verifies with the public Standard Webhooks library. It answers the first
// attempt for one event type with 503, so that the demo shows a retry.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { limited } from './wait.js';

const PATH = '/energy';
const BODY_CHARS_MAX = 100_000;
const SECRET_LIMIT_MS = 10_000;

export interface Arrival {
  readonly id: string;
  readonly type: string;
  /** Key of the event's order. */
  readonly orderKey: string | undefined;
  /** Delay after the event's time. */
  readonly lateMs: number;
  /** The answer: 204 accepted, 503 refused on purpose. */
  readonly status: 204 | 503;
  /** Time since the refused attempt; undefined for a first attempt. */
  readonly againAfterMs: number | undefined;
}

interface EventBody {
  readonly type: string;
  readonly timestamp: string;
  readonly data: { readonly order?: { readonly key: string } };
}

export class DemoReceiver {
  /** Called for each verified webhook. */
  onArrival: (arrival: Arrival) => void = () => undefined;
  readonly arrivals: Arrival[] = [];
  private readonly refusedAtMs = new Map<string, number>();
  private readonly taken = new Set<string>();
  private giveSecret: (secret: string) => void = () => undefined;
  private readonly secret = new Promise<string>((resolve) => (this.giveSecret = resolve));

  private constructor(
    private readonly server: Server,
    /** Each event of this type is refused once. */
    private readonly refusedType: string,
  ) {}

  static async start(refusedType: string): Promise<DemoReceiver> {
    const server = createServer();
    const receiver = new DemoReceiver(server, refusedType);
    server.on('request', (request, response) => {
      receiver.take(request).then(
        (status) => response.writeHead(status).end(),
        () => response.writeHead(400).end(),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}${PATH}`;
  }

  /** Sets the webhook's secret. Requests wait until it is set. */
  knows(secret: string): void {
    this.giveSecret(secret);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Returns the status to answer. Throws if verification fails. */
  private async take(request: IncomingMessage): Promise<number> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) {
      body += String(chunk);
      if (body.length > BODY_CHARS_MAX) throw new Error('too long');
    }
    const headers = request.headers as Record<string, string>;
    const webhook = new Webhook(await limited(this.secret, SECRET_LIMIT_MS, 'the secret'));
    const { type, timestamp, data } = webhook.verify(body, headers) as EventBody;
    const id = headers['webhook-id'] ?? '';
    // Deduplicates: an event that arrives twice is processed once.
    if (this.taken.has(id)) return 204;
    const refusedAtMs = this.refusedAtMs.get(id);
    const status = type === this.refusedType && refusedAtMs === undefined ? 503 : 204;
    const againAfterMs = refusedAtMs === undefined ? undefined : Date.now() - refusedAtMs;
    if (status === 503) this.refusedAtMs.set(id, Date.now());
    else this.taken.add(id);
    const orderKey = data.order?.key;
    const arrival = { id, type, orderKey, lateMs: Date.now() - Date.parse(timestamp), status, againAfterMs } as const;
    this.arrivals.push(arrival);
    this.onArrival(arrival);
    return status;
  }
}
