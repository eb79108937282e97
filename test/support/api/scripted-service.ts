// A server that sends scripted answers in order and records its requests. It checks every signature by the interface's
// rules.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EnergyClient, type ClientSettings } from '../../../packages/sdk/src/index.js';
import { hmacHeaders } from './client.js';

const MERCHANT = '3f2a1b4c-5d6e-7f80-9a1b-2c3d4e5f6071';
const API_KEY = 'test_api_key_123';

export interface Asked {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly atMs: number;
}

/** `lost` breaks the connection without an answer. `silent` sends nothing. A function writes its own answer. */
export type Reply =
  | 'lost'
  | 'silent'
  | {
      readonly status?: number;
      readonly headers?: Record<string, string>;
      readonly body?: unknown;
      readonly text?: string;
    }
  | ((response: ServerResponse, asked: Asked) => void);

/** Returns an error answer in the service's format. */
export const refusal = (
  status: number,
  error: string,
  more: object = {},
  headers: Record<string, string> = {},
): Reply => ({
  ...{ status, headers },
  body: { ok: false, error, msg: 'In words.', request_id: 'req-1', ...more },
});

export class ScriptedService {
  readonly asked: Asked[] = [];
  private readonly replies: Reply[] = [];

  private constructor(
    readonly baseUrl: string,
    readonly close: () => void,
  ) {}

  static async open(): Promise<ScriptedService> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const close = (): void => {
      server.close();
      server.closeAllConnections();
    };
    const { port } = server.address() as AddressInfo;
    const service = new ScriptedService(`http://127.0.0.1:${port.toString()}`, close);
    server.on('request', (request, response) => void service.serve(request, response));
    return service;
  }

  /** Sets the next answers. The last one repeats. */
  answer(...replies: readonly Reply[]): void {
    this.replies.splice(0, this.replies.length, ...replies);
    this.asked.length = 0;
  }

  client(settings: Partial<ClientSettings> = {}): EnergyClient {
    return new EnergyClient({ baseUrl: this.baseUrl, merchant: MERCHANT, apiKey: API_KEY, ...settings });
  }

  /** The environment of a merchant's program. */
  get env(): Record<string, string> {
    return { BASE_URL: this.baseUrl, MERCHANT, API_KEY };
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
    const { method = '', url: target = '' } = request;
    const asked = { method, target, headers: request.headers as Record<string, string>, text, atMs: performance.now() };
    this.asked.push(asked);
    const reply = this.replies.length > 1 ? this.replies.shift() : this.replies[0];
    if (!isSigned(asked)) return void response.writeHead(400).end('wrong signature');
    if (reply === undefined || reply === 'lost') return void request.socket.destroy();
    if (reply === 'silent') return;
    if (typeof reply === 'function') {
      reply(response, asked);
      return;
    }
    response.writeHead(reply.status ?? 200, { 'Content-Type': 'application/json', ...reply.headers });
    response.end(reply.text ?? JSON.stringify(reply.body));
  }
}

function isSigned({ method, target, headers, text }: Asked): boolean {
  const wanted = hmacHeaders(MERCHANT, API_KEY, {
    ...{ method, path: target, body: text, idempotencyKey: headers['idempotency-key'] ?? '' },
    ...{ timestamp: Number(headers['x-cc-timestamp']), nonce: headers['x-cc-nonce'] ?? '' },
  });
  return headers['merchant'] === MERCHANT && headers['x-cc-signature'] === wanted['X-CC-Signature'];
}
