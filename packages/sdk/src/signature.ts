// The signature of a request (docs/interface.md §2): HMAC-SHA256 v1 over nine lines, or MD5 over the body.
import { createHash, createHmac, randomBytes } from 'node:crypto';

export type Scheme = 'hmac' | 'md5';

/** The signed parts of a request, exactly as sent. */
export interface SignedRequest {
  readonly method: string;
  /** From /v1/ on, percent-encoded. */
  readonly path: string;
  /** Percent-encoded, without the question mark. Empty if the request has no query. */
  readonly query: string;
  /** Empty if the request has no body. */
  readonly body: string;
  /** Empty if the request has no key. */
  readonly idempotencyKey: string;
}

/**
 * Signs the requests of one project. Keeps the offset of the service's clock once the service has reported its time.
 */
export class Signer {
  private offsetSec = 0;

  constructor(
    private readonly merchant: string,
    private readonly apiKey: string,
    private readonly scheme: Scheme,
  ) {}

  /** Returns the signature headers of one attempt. Each attempt has its own timestamp and nonce. */
  headers(request: SignedRequest): Record<string, string> {
    const { merchant: Merchant, apiKey } = this;
    if (this.scheme === 'md5')
      return { Merchant, Signature: md5(Buffer.from(request.body).toString('base64') + apiKey) };
    const timestamp = (nowSec() + this.offsetSec).toString();
    const nonce = randomBytes(16).toString('hex');
    const message = [
      'CC-HMAC-SHA256-REQ-V1',
      timestamp,
      nonce,
      request.method,
      decodeURIComponent(request.path),
      request.query,
      Merchant,
      request.idempotencyKey,
      createHash('sha256').update(request.body).digest('hex'),
    ].join('\n');
    const signature = createHmac('sha256', apiKey).update(message).digest('hex');
    return { Merchant, 'X-CC-Timestamp': timestamp, 'X-CC-Nonce': nonce, 'X-CC-Signature': `v1=${signature}` };
  }

  /** Signs later requests by the service's clock, which showed `serverTime` (Unix seconds) a moment ago. */
  setClock(serverTime: number): void {
    this.offsetSec = serverTime - nowSec();
  }
}

const nowSec = (): number => Math.floor(Date.now() / 1000);
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
