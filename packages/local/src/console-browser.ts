/** Signs in to a console as a browser does: cookies, an Origin header, a password and an authenticator. */
import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const ANSWER_LIMIT_MS = 20_000;
const STEP_MS = 30_000;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

type Json = Readonly<Record<string, unknown>>;

/** Credentials of one account. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
  readonly authenticator: Authenticator;
}

/**
 * Generates time-based codes (RFC 6238), each for a later time step than the last. A console accepts one step early or
 * late.
 */
export class Authenticator {
  private used = -1;
  private readonly key: Buffer;

  constructor(secret: string) {
    const bits = secret.replace(/[A-Z2-7]/g, (each) => BASE32.indexOf(each).toString(2).padStart(5, '0'));
    this.key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  }

  /** Waits up to half a minute if the codes of all currently accepted steps are used. */
  async code(): Promise<string> {
    const now = (): number => Math.floor(Date.now() / STEP_MS);
    const step = Math.max(this.used + 1, now() - 1);
    this.used = step;
    while (step > now() + 1) await delay(200);
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(step));
    const digest = createHmac('sha1', this.key).update(counter).digest();
    const offset = (digest.at(-1) ?? 0) & 15;
    return ((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).toString().padStart(6, '0');
  }
}

export class ConsoleBrowser {
  /** Set-Cookie lines, by cookie name. */
  readonly cookies = new Map<string, string>();

  constructor(
    private readonly origin: string,
    private readonly userAgent = 'the demo',
  ) {}

  /** Accepts an invitation, sets up a second factor, and returns the account's credentials. */
  async signUp(token: string, email: string, password: string): Promise<Credentials> {
    await this.post('/api/invitations/accept', { token, password });
    const { secret } = await this.post('/api/security/second-factor/begin', {});
    const authenticator = new Authenticator(String(secret));
    await this.post('/api/security/second-factor/confirm', { code: await authenticator.code() });
    return { email, password, authenticator };
  }

  /** Accepts a further invitation with an existing account. */
  async join(token: string, { password }: Credentials): Promise<void> {
    await this.post('/api/invitations/accept', { token, password });
  }

  /** Signs in and returns the Set-Cookie lines of the session. */
  async signIn({ email, password, authenticator }: Credentials): Promise<readonly string[]> {
    await this.post('/api/sign-in', { email, password });
    await this.post('/api/sign-in/second-factor', { code: await authenticator.code() });
    return [...this.cookies.values()];
  }

  private async post(path: string, body: Json): Promise<Json> {
    const pairs = [...this.cookies.values()].map((line) => line.split(';', 1)[0] ?? '');
    const response = await fetch(this.origin + path, {
      method: 'POST',
      headers: {
        Origin: this.origin,
        'Content-Type': 'application/json',
        'User-Agent': this.userAgent,
        ...(pairs.length > 0 && { Cookie: pairs.join('; ') }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    });
    for (const line of response.headers.getSetCookie()) this.cookies.set(line.split('=', 1)[0] ?? '', line);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} was answered ${response.status.toString()}: ${text.slice(0, 300)}`);
    return JSON.parse(text) as Json;
  }
}
