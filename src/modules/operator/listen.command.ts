/**
 * `listen`: shows a project's events on a developer's machine and forwards each to a local URL like a webhook. No
 * database.
 */
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { monotonicMs, nowMs } from '../../platform/support/clock.js';
import { messageOf } from '../../domain/errors.js';
import { usageError } from '../../domain/operator-error.js';
import { signedHeaders } from '../webhooks/webhook-signature.js';
import { integerArg, merchantArg, typesArg } from './arguments.js';
import { apiKeyFrom } from './api-key-input.js';
import type { CliContext } from './cli-context.js';
import { EventFeed, faultOf, type FeedEvent } from './event-feed.js';

const HELP = `
This command needs no database. It needs the URL of the service and a Merchant
ID, as options or as BASE_URL and MERCHANT, and an API key with the scope read,
from API_KEY or --key-file. Forwarded events are signed with WEBHOOK_SECRET, or
with a new secret, which is printed.
  export BASE_URL=https://energy.example.com MERCHANT API_KEY
  npm run -s cli -- listen --forward-to http://localhost:4000/hooks

Each event is forwarded once, after the answer to the event before, and is not
retried. Ctrl-C stops the command and prints the position to continue after.
With --json, each line is one JSON document.`;

const COLUMNS_MAX = 80;
/** The same limit as for webhooks. */
const FORWARD_MS = 15_000;
const SECRET_BYTES = 32;
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
const USER_AGENT = 'energy-rental-listen/1';

interface Options {
  readonly forwardTo?: string;
  readonly baseUrl?: string;
  readonly merchant?: string;
  readonly keyFile?: string;
  readonly after?: bigint;
  readonly type?: readonly string[];
}

/** The outcome of a forwarded event. */
interface Forwarded {
  readonly status?: number;
  readonly fault?: string;
  readonly ms: number;
}

export function addListenCommand(program: Command, context: CliContext): void {
  program
    .command('listen')
    .description('show a project’s events live and forward them to a URL on your machine')
    .option('--forward-to <url>', 'URL that gets each event; without it, events are only shown')
    .option('--base-url <url>', 'URL of the service (default: BASE_URL)')
    .option('--merchant <uuid>', 'Merchant ID (default: MERCHANT)', merchantArg)
    .option('--key-file <file>', 'file that contains only the API key (default: API_KEY)')
    .option('--after <position>', 'start after this position (default: now)', integerArg(0n, 2n ** 53n - 1n))
    .option('--type <type...>', 'only events of these types', typesArg)
    .addHelpText('after', HELP)
    .action((options: Options) => listen(context, options));
}

async function listen(context: CliContext, options: Options): Promise<void> {
  const { env } = context.terminal;
  const baseUrl = httpUrl(
    options.baseUrl ?? env['BASE_URL'],
    'The URL of the service is missing. Pass --base-url, or set BASE_URL.',
  );
  const merchant = merchantOf(options.merchant ?? env['MERCHANT']);
  const apiKey = apiKeyFrom(options.keyFile, context.terminal);
  const forwardTo = options.forwardTo === undefined ? undefined : httpUrl(options.forwardTo, '');
  const secret = secretOf(env['WEBHOOK_SECRET']);
  const { after = 'latest', type: types = [] } = options;
  const feed = new EventFeed({ baseUrl: baseUrl.replace(/\/+$/, ''), merchant, apiKey, after, types });
  const lines = new ListenLines(context);
  lines.begin(forwardTo, env['WEBHOOK_SECRET'] === undefined ? secret : undefined);
  const stop = context.terminal.interrupted?.() ?? new AbortController().signal;
  await feed.run(
    {
      onBegin: (position) => lines.showConnected(position),
      onLoss: (reason) => lines.showLost(reason),
      onEvent: async (event) => {
        if (forwardTo === undefined) {
          lines.event(event, undefined);
          return;
        }
        const ending = (): void => lines.showEnding();
        stop.addEventListener('abort', ending);
        lines.event(event, await forward(forwardTo, secret, event));
        stop.removeEventListener('abort', ending);
      },
    },
    stop,
  );
  lines.end(feed.position);
}

function httpUrl(text: string | undefined, missing: string): string {
  if (text === undefined || text === '') throw usageError(missing);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw usageError(`${text} is not an http or https URL, or contains a password.`);
  return text;
}

function merchantOf(text: string | undefined): string {
  if (text === undefined || text === '')
    throw usageError('The Merchant ID is missing. Pass --merchant, or set MERCHANT.');
  try {
    return merchantArg(text);
  } catch (error) {
    throw usageError(messageOf(error));
  }
}

function secretOf(given: string | undefined): string {
  if (given === undefined) return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  if (!SECRET.test(given)) throw usageError('WEBHOOK_SECRET must be whsec_ followed by the base64 of 24 to 64 bytes.');
  return given;
}

/** Sends an event once, signed as the sender signs it. Never rejects. */
async function forward(url: string, secret: string, { payload }: FeedEvent): Promise<Forwarded> {
  const startedMs = monotonicMs();
  const tookMs = (): number => Math.round(monotonicMs() - startedMs);
  const { id } = JSON.parse(payload) as { id: string };
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': USER_AGENT,
        ...signedHeaders(id, Math.floor(nowMs() / 1000), payload, [secret]),
      },
      body: payload,
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_MS),
    });
    await response.body?.cancel();
    return { status: response.status, ms: tookMs() };
  } catch (error) {
    const isLate = (error as { readonly name?: unknown }).name === 'TimeoutError';
    return { fault: isLate ? 'no answer within 15 s' : faultOf(error), ms: tookMs() };
  }
}

/** Widths of an event's columns before its subject and answer. */
const POSITION_WIDTH = 7;
const TYPE_WIDTH = 19;

/** Prints for a terminal of 80 columns, or one JSON document per line. */
class ListenLines {
  /** True if the next stream that begins is to be announced. */
  private isNews = true;
  private isFirst = true;

  constructor(private readonly context: CliContext) {}

  begin(forwardTo: string | undefined, secret: string | undefined): void {
    if (forwardTo === undefined) return;
    if (secret === undefined) this.showLine(`Forwarding events to ${forwardTo}`, { forward_to: forwardTo });
    else
      this.showLine(`Forwarding events to ${forwardTo}\nsigned with this temporary secret:\n  ${secret}`, {
        forward_to: forwardTo,
        secret,
      });
  }

  showConnected(position: bigint): void {
    const more = this.isFirst ? '. Press Ctrl-C to stop.' : ' again.';
    if (this.isNews)
      this.showLine(`Listening after position ${position.toString()}${more}`, { listening_after: position });
    this.isFirst = this.isNews = false;
  }

  showEnding(): void {
    if (!this.context.isJson)
      this.context.terminal.err('Stopping after the answer to this event. Press Ctrl-C again to stop immediately.\n');
  }

  showLost(reason: string): void {
    this.context.warn(`${reason}. Retrying.`);
    this.isNews = true;
  }

  event({ position, payload }: FeedEvent, forwarded: Forwarded | undefined): void {
    if (this.context.isJson) {
      this.context.terminal.out(`${JSON.stringify({ event: JSON.parse(payload) as unknown, ...forwarded })}\n`);
      return;
    }
    const { type, data } = JSON.parse(payload) as { type: string; data: Data };
    const time = new Date(nowMs()).toTimeString().slice(0, 8);
    const head = `${time} ${position.toString().padStart(POSITION_WIDTH)}  ${type.padEnd(TYPE_WIDTH)}`;
    const answer = forwarded === undefined ? '' : answerText(forwarded);
    const room = COLUMNS_MAX - head.length - 2 - (answer === '' ? 0 : answer.length + 2);
    const subject = shortened(subjectOf(data), room);
    this.context.terminal.out(`${`${head}  ${subject.padEnd(answer === '' ? 0 : room)}  ${answer}`.trimEnd()}\n`);
  }

  end(position: bigint | undefined): void {
    if (position === undefined) return;
    this.showLine(`Stopped. To continue: --after ${position.toString()}`, { ended_after: position });
  }

  private showLine(human: string, json: Record<string, unknown>): void {
    const document = JSON.stringify(json, (_key, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    this.context.terminal.out(this.context.isJson ? `${document}\n` : `${human}\n`);
  }
}

type Data = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Returns the name that the owner gave to the event's subject. */
function subjectOf(data: Data): string {
  const [subject = {}] = Object.values(data);
  const name = subject['key'] ?? subject['txid'] ?? subject['name'] ?? subject['url'] ?? subject['credits_balance'];
  // The terminal shows untrusted text.
  return typeof name === 'string' || typeof name === 'number' ? `${name}`.replaceAll(/\p{C}/gu, '?') : '';
}

function shortened(text: string, room: number): string {
  return text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`;
}

function answerText({ status, fault, ms }: Forwarded): string {
  return `${status?.toString() ?? fault ?? ''} ${ms.toString()} ms`;
}
