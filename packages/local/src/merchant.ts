// A merchant's server as the interface describes one: signs the body it sends and nothing else.
import { createHash } from 'node:crypto';

const ANSWER_LIMIT_MS = 40_000;

export interface MerchantAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Keys sorted, no whitespace: what is signed is what is sent. Bodies of this interface are flat. */
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
  constructor(
    readonly baseUrl: string,
    readonly id: string,
    readonly apiKey: string,
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

  /** The same POST as a line for a shell. */
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
        Signature: signatureOf(text ?? '', this.apiKey),
        ...(text === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Readonly<Record<string, unknown>>,
    };
  }
}
