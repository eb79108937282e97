/** What signs in to a console as a browser does: with cookies and an origin, a password and an authenticator. */
import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const ANSWER_LIMIT_MS = 20_000;
const STEP_MS = 30_000;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

type Json = Readonly<Record<string, unknown>>;

/** What an account signs in with. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
  readonly authenticator: Authenticator;
}

/** Time-based codes (RFC 6238), each of a later step than the one before; a console takes a step early or late. */
export class Authenticator {
  private used = -1;
  private readonly key: Buffer;

  constructor(secret: string) {
    const bits = secret.replace(/[A-Z2-7]/g, (each) => BASE32.indexOf(each).toString(2).padStart(5, '0'));
    this.key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  }

  /** Waits, for half a minute at most, where the codes that would be taken by now are used. */
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
  /** As the console set them last. */
  readonly cookies = new Map<string, string>();

  constructor(
    private readonly origin: string,
    private readonly userAgent = 'the demo',
  ) {}

  /** Takes an invitation and sets up a second factor; returns what the account signs in with from then on. */
  async signUp(token: string, email: string, password: string): Promise<Credentials> {
    await this.post('/api/invitations/accept', { token, password });
    const { secret } = await this.post('/api/security/second-factor/begin', {});
    const authenticator = new Authenticator(String(secret));
    await this.post('/api/security/second-factor/confirm', { code: await authenticator.code() });
    return { email, password, authenticator };
  }

  /** Takes another invitation with an account that there is. */
  async join(token: string, { password }: Credentials): Promise<void> {
    await this.post('/api/invitations/accept', { token, password });
  }

  /** Returns the lines by which the console gave the browser its session. */
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
