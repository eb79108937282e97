/**
 * Both consoles of the demo, with an account in each, and links that work once: each signs a browser in to a console, and
 * one of them pays on chain first, for the project whose console shows it arrive.
 *
 * The consoles are the service's own, unchanged, and nothing in them knows of such links. The demo is who owns the account: it
 * takes the invitation that the command line printed, makes up a password, sets up an authenticator, and whenever a link
 * is opened it signs in with both, as anybody does. A page of the demo's own process then hands the cookie that it was
 * given to the browser that asked: cookies of 127.0.0.1 are not separated by port. That ends outside the demo, where
 * nobody has the account's password, and a console with https names its cookie `__Host-`, which no other host can set.
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
import type { World } from './world.js';

const LINK_LIFE_MS = 3_600_000;
const PASSWORD_BYTES = 24;
const TOKEN_BYTES = 24;
const EMAILS = { merchant: 'mira@northwind.example', operator: 'lena@operator.example' } as const;

interface Link {
  readonly token: string;
  readonly endsMs: number;
}

type Refusal = readonly [status: number, says: string];
/** What a link does: it signs in to a console, or pays and signs in to where that shows. */
export type LinkPurpose = Audience | 'payment';
export const LINK_PURPOSES: readonly LinkPurpose[] = [...AUDIENCES, 'payment'];

interface Act {
  readonly audience: Audience;
  readonly account: Credentials;
  /** Made before anybody is signed in. */
  readonly payment?: Payment;
}

type Taken = Act | { readonly refusal: Refusal };

interface Payment {
  readonly project: string;
  /** Resolves when it is in a block. */
  readonly pay: () => Promise<void>;
}

export class DemoConsoles {
  /** Called with a new link each time that one was used, or had expired. */
  onLink: (purpose: LinkPurpose, link: string, wasUsed: boolean) => void = () => undefined;
  /** What a link that pays does; before it is set, such a link does not work. */
  payment: Payment | undefined;
  private readonly accounts = new Map<Audience, Credentials>();
  private readonly links = new Map<LinkPurpose, Link>();

  private constructor(
    private readonly world: World,
    readonly origins: Readonly<Record<Audience, string>>,
    private readonly server: Server,
  ) {}

  /** Starts both consoles and the page of links; there are no links before `signUp`. */
  static async start(world: World, env: NodeJS.ProcessEnv = {}): Promise<DemoConsoles> {
    const [merchant, operator] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
    const origins = { merchant: merchant ?? '', operator: operator ?? '' };
    const server = createServer();
    const consoles = new DemoConsoles(world, origins, server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void consoles.answer(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const links = { CONSOLE_MERCHANT_URL: origins.merchant, ...env };
    await Promise.all(AUDIENCES.map((audience) => world.startConsole(audience, origins[audience], links)));
    return consoles;
  }

  /** The operators' admin, and the owner of these projects: by the command line's invitations. */
  async signUp(projects: readonly string[]): Promise<void> {
    const [first, ...others] = projects;
    const invite = async (audience: Audience, ...whom: readonly string[]): Promise<string> => {
      const [email, url] = [EMAILS[audience], this.origins[audience]];
      const { link } = await this.world.cli('console', 'invite', '--email', email, '--url', url, ...whom);
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

  /** A new link, which ends the one before. */
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
      refuse([502, `The demo could not do what the link is for: ${reasonOf(error)}`]);
    }
  }

  /** Does what the link is for; the headers lead the browser to where that shows. */
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

  /** Uses the link up that this request opens, whatever comes of it. */
  private take({ method, headers, url = '' }: IncomingMessage): Taken {
    // Neither a prefetch may use a link up, nor a page under another name that leads here.
    if (method !== 'GET' || headers['sec-purpose'] !== undefined) return { refusal: [405, 'Open the link.'] };
    if (headers.host !== new URL(this.origin).host) return { refusal: [403, 'Open the link as it was printed.'] };
    const purpose = LINK_PURPOSES.find((each) => url === `/${each}/${this.links.get(each)?.token ?? ''}`);
    const link = purpose && this.links.get(purpose);
    const taken = purpose && this.actOf(purpose);
    if (purpose === undefined || link === undefined || taken === undefined) {
      return { refusal: [410, 'This link was used. The demo prints another one each time.'] };
    }
    const isAlive = Date.now() < link.endsMs;
    this.onLink(purpose, this.link(purpose), isAlive);
    return isAlive
      ? taken
      : { refusal: [410, 'This link is older than an hour. The demo has just printed another one.'] };
  }

  private actOf(purpose: LinkPurpose): Act | undefined {
    const audience = purpose === 'payment' ? 'merchant' : purpose;
    const account = this.accounts.get(audience);
    if (account === undefined) return undefined;
    if (purpose !== 'payment') return { audience, account };
    return this.payment && { audience, account, payment: this.payment };
  }
}
