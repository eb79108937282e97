/**
 * Both consoles of the demo, an account in each, and one-time links that sign a browser in. One kind of link first
 * makes a payment on chain and then opens the console page that shows it arrive.
 *
 * The consoles are the unchanged service and know nothing of these links. The demo owns the accounts: it accepts the
 * invitation from the CLI, generates a password and sets up an authenticator. When a link is opened, the demo signs in
 * with both, and its page passes the session cookie to the browser that opened the link. This works because cookies of
 * 127.0.0.1 are not separated by port. It does not work outside the demo: the account's password is not available
 * there, and a console with https names its cookie `__Host-`, which no other host can set.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { AUDIENCES, type Audience } from '../../../src/domain/audience.js';
import { reasonOf } from '../../../src/domain/errors.js';
import { ConsoleBrowser, type Credentials } from './console-browser.js';
import { freePort } from './ports.js';
import type { LocalService } from './local-service.js';

const LINK_LIFE_MS = 3_600_000;
const PASSWORD_BYTES = 24;
const TOKEN_BYTES = 24;
const EMAILS = { merchant: 'mira@northwind.example', operator: 'lena@operator.example' } as const;

interface Link {
  readonly token: string;
  readonly endsMs: number;
}

type Refusal = readonly [status: number, says: string];
/** Effect of a link: sign in to a console, or pay first and then sign in to the page that shows the payment. */
export type LinkPurpose = Audience | 'payment';
export const LINK_PURPOSES: readonly LinkPurpose[] = [...AUDIENCES, 'payment'];

interface Act {
  readonly audience: Audience;
  readonly account: Credentials;
  /** Made before the sign-in. */
  readonly payment?: Payment;
}

type Taken = Act | { readonly refusal: Refusal };

interface Payment {
  readonly project: string;
  /** Resolves when the payment is in a block. */
  readonly pay: () => Promise<void>;
}

export class DemoConsoles {
  /** Called with a replacement link whenever a link was used or had expired. */
  onLink: (purpose: LinkPurpose, link: string, wasUsed: boolean) => void = () => undefined;
  /** The payment of a payment link. Until it is set, payment links do not work. */
  payment: Payment | undefined;
  private readonly accounts = new Map<Audience, Credentials>();
  private readonly links = new Map<LinkPurpose, Link>();

  private constructor(
    private readonly service: LocalService,
    readonly origins: Readonly<Record<Audience, string>>,
    private readonly server: Server,
  ) {}

  /** Starts both consoles and the link server. Links work only after `signUp`. */
  static async start(service: LocalService, env: NodeJS.ProcessEnv = {}): Promise<DemoConsoles> {
    const [merchant, operator] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
    const origins = { merchant: merchant ?? '', operator: operator ?? '' };
    const server = createServer();
    const consoles = new DemoConsoles(service, origins, server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void consoles.answer(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const links = { CONSOLE_MERCHANT_URL: origins.merchant, ...env };
    await Promise.all(AUDIENCES.map((audience) => service.startConsole(audience, origins[audience], links)));
    return consoles;
  }

  /** Creates the operators' admin and the owner of these projects, by invitations from the CLI. */
  async signUp(projects: readonly string[]): Promise<void> {
    const [first, ...others] = projects;
    const invite = async (audience: Audience, ...whom: readonly string[]): Promise<string> => {
      const [email, url] = [EMAILS[audience], this.origins[audience]];
      const { link } = await this.service.cli('console', 'invite', '--email', email, '--url', url, ...whom);
      return new URL(String(link)).hash.slice(1);
    };
    const join = async (audience: Audience, token: string): Promise<Credentials> => {
      const password = randomBytes(PASSWORD_BYTES).toString('base64url');
      const credentials = await new ConsoleBrowser(this.origins[audience]).signUp(token, EMAILS[audience], password);
      this.accounts.set(audience, credentials);
      return credentials;
    };
    const owner = async (): Promise<void> => {
      const credentials = await join('merchant', await invite('merchant', '--role', 'owner', '--project', first ?? ''));
      for (const project of others) {
        const token = await invite('merchant', '--role', 'owner', '--project', project);
        await new ConsoleBrowser(this.origins.merchant).join(token, credentials);
      }
    };
    await Promise.all([owner(), join('operator', await invite('operator', '--role', 'admin'))]);
  }

  /** Returns a new link and invalidates the previous one. */
  link(purpose: LinkPurpose): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    this.links.set(purpose, { token, endsMs: Date.now() + LINK_LIFE_MS });
    return `${this.origin}/${purpose}/${token}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('Referrer-Policy', 'no-referrer').setHeader('Cache-Control', 'no-store');
    const refuse = ([status, says]: Refusal): void => {
      response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${says}\n`);
    };
    const taken = this.take(request);
    if ('refusal' in taken) {
      refuse(taken.refusal);
      return;
    }
    try {
      response.writeHead(303, await this.leadOn(taken, request.headers['user-agent'])).end();
    } catch (error) {
      refuse([502, `The demo failed to follow this link: ${reasonOf(error)}`]);
    }
  }

  /** Performs the link's action and returns headers that redirect the browser to the result. */
  private async leadOn(
    { audience, account, payment }: Act,
    userAgent: string | undefined,
  ): Promise<OutgoingHttpHeaders> {
    const origin = this.origins[audience];
    await payment?.pay();
    const cookies = await new ConsoleBrowser(origin, userAgent).signIn(account);
    const page = payment === undefined ? '/' : `/p/${payment.project}/billing/top-up`;
    return { 'Set-Cookie': [...cookies], Location: `${origin}${page}` };
  }

  /** Consumes the link that this request opens, even if its action fails. */
  private take({ method, headers, url = '' }: IncomingMessage): Taken {
    // Refuses prefetches, which would consume a link, and requests under another host name, such as a page that leads
    // here.
    if (method !== 'GET' || headers['sec-purpose'] !== undefined) return { refusal: [405, 'Open the link.'] };
    if (headers.host !== new URL(this.origin).host) return { refusal: [403, 'Open the complete link as printed.'] };
    const purpose = LINK_PURPOSES.find((each) => url === `/${each}/${this.links.get(each)?.token ?? ''}`);
    const link = purpose && this.links.get(purpose);
    const taken = purpose && this.actOf(purpose);
    if (purpose === undefined || link === undefined || taken === undefined) {
      return { refusal: [410, 'This link was already used. The demo prints a new one each time.'] };
    }
    const isAlive = Date.now() < link.endsMs;
    this.onLink(purpose, this.link(purpose), isAlive);
    return isAlive ? taken : { refusal: [410, 'This link has expired after an hour. The demo has printed a new one.'] };
  }

  private actOf(purpose: LinkPurpose): Act | undefined {
    const audience = purpose === 'payment' ? 'merchant' : purpose;
    const account = this.accounts.get(audience);
    if (account === undefined) return undefined;
    if (purpose !== 'payment') return { audience, account };
    return this.payment && { audience, account, payment: this.payment };
  }
}
