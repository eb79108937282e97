// An API client that signs requests, written from the interface documentation alone. It shares no code with src, so
// that a mistake there is not repeated here.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { keepSaid, keepShown, noteSecret } from '../../setup/canary.js';

const ANSWER_LIMIT_MS = 40_000;

export interface Answer {
  readonly status: number;
  /** Keys are lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The JSON body; undefined when the body is not JSON. The test asserts its shape. */
  readonly body: ReturnType<typeof JSON.parse>;
}

/** Header lists keep repeated names apart: [['Merchant', 'a'], ['Merchant', 'b']]. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Serializes a value as JSON with sorted keys and no whitespace. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

/** Returns hex(md5(base64(text) + apiKey)). */
function sign(text: string, apiKey: string): string {
  const signature = createHash('md5')
    .update(Buffer.from(text).toString('base64') + apiKey)
    .digest('hex');
  noteSecret('API key', apiKey);
  noteSecret('signature', signature);
  return signature;
}

/** The signed parts of one HMAC request. Time and nonce default to the current time and a random value. */
export interface HmacRequest {
  readonly method: string;
  /** As in the request line. */
  readonly path: string;
  readonly body?: string | Buffer;
  readonly idempotencyKey?: string;
  readonly timestamp?: number;
  readonly nonce?: string;
}

/** Returns Merchant and the three HMAC headers. Send Idempotency-Key beside them as signed. */
export function hmacHeaders(merchant: string, apiKey: string, request: HmacRequest): Record<string, string> {
  const timestamp = (request.timestamp ?? Math.floor(Date.now() / 1000)).toString();
  const nonce = request.nonce ?? randomBytes(16).toString('hex');
  const [path = '', ...query] = request.path.split('?');
  const lines = [
    'CC-HMAC-SHA256-REQ-V1',
    timestamp,
    nonce,
    request.method,
    decodeURIComponent(path),
    query.join('?'),
    merchant,
    request.idempotencyKey ?? '',
    createHash('sha256')
      .update(request.body ?? '')
      .digest('hex'),
  ];
  const signature = `v1=${createHmac('sha256', apiKey).update(lines.join('\n')).digest('hex')}`;
  noteSecret('API key', apiKey);
  noteSecret('signature', signature);
  return { Merchant: merchant, 'X-CC-Timestamp': timestamp, 'X-CC-Nonce': nonce, 'X-CC-Signature': signature };
}

const agent = new Agent({ keepAlive: true, timeout: 10_000, scheduling: 'fifo' });

/** Sends one request unsigned and reads the answer. Rejects when the connection breaks. */
export async function send(
  baseUrl: string,
  method: string,
  path: string,
  headers: Headers = {},
  body?: string | Buffer,
): Promise<Answer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        agent,
        hostname,
        port,
        method,
        path,
        headers: headers as Record<string, string | string[]>,
        timeout: ANSWER_LIMIT_MS,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const answerHeaders = response.headers as Record<string, string | undefined>;
          (showsSecret(method, path) ? keepShown : keepSaid)('answers', text);
          resolve({ status: response.statusCode ?? 0, headers: answerHeaders, text, body: parsed(text) });
        });
      },
    );
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error(`no answer to ${method} ${path}`)));
    request.end(body);
  });
}

/** Returns true for the creation of a webhook and the rotation of its secret, which show the secret. */
function showsSecret(method: string, path: string): boolean {
  return method === 'POST' && /^\/v1\/webhooks(?:\/[^/]+\/rotate)?$/.test(path);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Writes `frame` to a new connection and reads until the server closes it. Rejects after `limitMs`. With `quietMs` it
 * half-closes the connection after that much silence. An incomplete frame then need not wait for the server's timeout.
 */
export async function sendFrame(
  baseUrl: string,
  frame: string | Buffer,
  { limitMs = 10_000, quietMs }: { limitMs?: number; quietMs?: number } = {},
): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection stayed open after: ${Buffer.concat(chunks).toString('latin1').slice(0, 200)}`));
    }, limitMs);
    if (quietMs !== undefined) socket.setTimeout(quietMs, () => socket.end());
    socket.on('data', (chunk) => chunks.push(chunk));
    // Some refusals end with a reset after the answer. The bytes read before it count.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      const answer = Buffer.concat(chunks).toString('latin1');
      keepSaid('answers', answer);
      resolve(answer);
    });
    socket.write(frame);
  });
}

/** An API client of one project. */
export class Customer {
  constructor(
    readonly baseUrl: string,
    readonly merchant: string,
    readonly apiKey: string,
  ) {}

  /** Signs `body` and sends it in canonical form. A string is signed and sent unchanged. */
  async post(path: string, body: unknown, headers: Headers = {}): Promise<Answer> {
    const text = typeof body === 'string' ? body : canonical(body);
    return this.postSigned(path, text, text, headers);
  }

  /** Sends `sent` with the signature of `signed`. */
  async postSigned(path: string, sent: string | Buffer, signed: string, headers: Headers = {}): Promise<Answer> {
    const json = { 'Content-Type': 'application/json' };
    return send(this.baseUrl, 'POST', path, { ...json, ...this.authHeaders(signed), ...headers }, sent);
  }

  async get(path: string, headers: Headers = {}): Promise<Answer> {
    return send(this.baseUrl, 'GET', path, { ...this.authHeaders(''), ...headers });
  }

  /** Returns the two auth headers for the text `signed`. */
  authHeaders(signed: string): { Merchant: string; Signature: string } {
    return { Merchant: this.merchant, Signature: sign(signed, this.apiKey) };
  }

  /** Returns a client of the same project at another process of the service. */
  at(baseUrl: string): Customer {
    return new Customer(baseUrl, this.merchant, this.apiKey);
  }

  withKey(apiKey: string): Customer {
    return new Customer(this.baseUrl, this.merchant, apiKey);
  }
}

/** A client that signs by HMAC. After a refusal for its timestamp it signs again with the service's time. */
export class HmacCustomer extends Customer {
  private offsetSec = 0;

  override async postSigned(
    path: string,
    sent: string | Buffer,
    _signed: string,
    headers: Headers = {},
  ): Promise<Answer> {
    return this.request('POST', path, headers, sent);
  }

  override async get(path: string, headers: Headers = {}): Promise<Answer> {
    return this.request('GET', path, headers);
  }

  /** Sends a request of any method; the body is optional. */
  async request(method: string, path: string, headers: Headers = {}, body?: string | Buffer): Promise<Answer> {
    const answer = await this.once(method, path, headers, body);
    if (answer.body?.error !== 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE') return answer;
    this.offsetSec = Number(answer.body.server_time) - Math.floor(Date.now() / 1000);
    return this.once(method, path, headers, body);
  }

  override at(baseUrl: string): HmacCustomer {
    return new HmacCustomer(baseUrl, this.merchant, this.apiKey);
  }

  override withKey(apiKey: string): HmacCustomer {
    return new HmacCustomer(this.baseUrl, this.merchant, apiKey);
  }

  private async once(method: string, path: string, headers: Headers, body?: string | Buffer): Promise<Answer> {
    const key = headers['Idempotency-Key'];
    const timestamp = Math.floor(Date.now() / 1000) + this.offsetSec;
    const signed = hmacHeaders(this.merchant, this.apiKey, {
      method,
      path,
      timestamp,
      ...(body !== undefined && { body }),
      ...(typeof key === 'string' && { idempotencyKey: key }),
    });
    const json = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return send(this.baseUrl, method, path, { ...json, ...signed, ...headers }, body);
  }
}
