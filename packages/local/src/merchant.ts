// A minimal merchant's server, as the interface describes it: signs and sends requests.
import { createHash, createHmac, randomBytes } from 'node:crypto';

const ANSWER_LIMIT_MS = 40_000;

export interface MerchantAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Returns JSON with sorted keys and no whitespace; the same text is signed and sent. Bodies of this interface are flat.
 */
function canonicalBody(body: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** hex(md5(base64(canonical) + api_key)); a request without a body signs the empty string. */
function signatureOf(canonical: string, apiKey: string): string {
  return createHash('md5')
    .update(Buffer.from(canonical).toString('base64') + apiKey)
    .digest('hex');
}

export class Merchant {
  /** Offset of the service's clock in seconds, as the service last reported it. */
  private offsetSec = 0;

  constructor(
    readonly baseUrl: string,
    readonly id: string,
    readonly apiKey: string,
    /** MD5 covers the body only, so a request can be shown as a shell command that works repeatedly. */
    readonly signatures: 'md5' | 'hmac' = 'md5',
  ) {}

  async get(path: string): Promise<MerchantAnswer> {
    return this.send('GET', path, undefined, {});
  }

  async post(
    path: string,
    body: Readonly<Record<string, unknown>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<MerchantAnswer> {
    return this.send('POST', path, canonicalBody(body), headers);
  }

  /** Returns the same POST as a shell command. */
  curl(path: string, body: Readonly<Record<string, unknown>>): string {
    const text = canonicalBody(body);
    return [
      `curl -sS ${this.baseUrl}${path}`,
      `  -H 'Content-Type: application/json'`,
      `  -H 'Merchant: ${this.id}'`,
      `  -H 'Signature: ${signatureOf(text, this.apiKey)}'`,
      `  -d '${text.replaceAll(',"', `,'\\\n'"`)}'`,
    ].join(' \\\n');
  }

  /** Returns the signature headers of one request. An HMAC signature is accepted once. */
  private sign(method: string, target: string, text: string, key: string): Record<string, string> {
    if (this.signatures === 'md5') return { Signature: signatureOf(text, this.apiKey) };
    const timestamp = (Math.floor(Date.now() / 1000) + this.offsetSec).toString();
    const nonce = randomBytes(16).toString('hex');
    const [path = '', ...query] = target.split('?');
    const hash = createHash('sha256').update(text).digest('hex');
    const signed = [timestamp, nonce, method, decodeURIComponent(path), query.join('?'), this.id, key, hash];
    const message = ['CC-HMAC-SHA256-REQ-V1', ...signed].join('\n');
    const signature = createHmac('sha256', this.apiKey).update(message).digest('hex');
    return { 'X-CC-Timestamp': timestamp, 'X-CC-Nonce': nonce, 'X-CC-Signature': `v1=${signature}` };
  }

  private async send(
    method: string,
    path: string,
    text: string | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<MerchantAnswer> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        Merchant: this.id,
        ...this.sign(method, path, text ?? '', headers['Idempotency-Key'] ?? ''),
        ...(text === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    });
    const body = (await response.json()) as Readonly<Record<string, unknown>>;
    if (body['error'] === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE' && this.offsetSec === 0) {
      this.offsetSec = Math.max(1, Number(body['server_time']) - Math.floor(Date.now() / 1000));
      return this.send(method, path, text, headers);
    }
    return { status: response.status, headers: response.headers, body };
  }
}
