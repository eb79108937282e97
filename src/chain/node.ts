/**
 * One TRON node over HTTP: its full port and its solid port, with limits on every call, back-off when it throttles,
 * and what is known of its head. Judges answers as answers only; never what they mean for an order.
 */
import { DeadlineError, monotonicMs, nowMs } from '../base/clock.js';
import { messageOf } from '../domain/errors.js';
import { NodeError } from './errors.js';
import { Connections, NotSentError, UnreadableAnswerError, type Answer } from './exchange.js';
import { isJsonObject, parseJson, plainJson, type JsonObject } from './json.js';
import type { BlockHead, BlockHeader } from './block.js';
import { authorizationOf, urlAt } from './node-url.js';
import { NodeBlocks, type Manner, type PortName } from './node-blocks.js';

export interface NodeOptions {
  readonly fullUrl: string;
  readonly solidUrl: string;
  readonly apiKey: string | undefined;
  readonly readTimeoutMs: number;
  readonly broadcastTimeoutMs: number;
  readonly headStallSec: number;
  readonly headAgeMaxSec: number;
  /** Of this process to each port at once; CONNECTIONS_MAX unless said. */
  readonly connectionsMax?: number;
  /** Waits for a place in the request budget that processes share; false when none comes in time. */
  readonly admit?: (path: string) => Promise<boolean>;
  /** Called when the node refuses a request for the number of them. */
  readonly onThrottled?: (path: string) => void;
  /** Whether the budget has places to spare right now; one is taken then. */
  readonly admitSpare?: () => Promise<boolean>;
}

/** TRON (TronGrid): over the limit a key is suspended for 30 s; asking meanwhile prolongs it. */
const THROTTLE_BACKOFF_MS = 30_000;
/** After a failure to connect the others are asked first for this long. */
const FAILURE_BACKOFF_MS = 2_000;
/**
 * How long a node that throttled is asked nothing even where there is no other, doubled with each throttled answer in a
 * row up to the whole back-off: a gateway that says 503 now and then is no suspended key.
 */
const THROTTLE_SILENCE_MS = 2_000;
/** How far this machine's clock may be behind that of who made the newest block. */
const CLOCK_SKEW_MAX_MS = 10_000;
/** A failed read is retried sooner than this, as long as a caller waits. */
const UNANSWERED_KEPT_MS = 60_000;
const HEAD = 'the head';
export const BROADCAST_PATH = 'wallet/broadcasthex';
/** The head of a provider that gives none without its transactions: read as a block, and asked as a head. */
const WHOLE_HEAD = 'walletsolidity/getnowblock';
const THROTTLED_STATUS = new Set([403, 429, 503]);
const THROTTLED_TEXT = /suspended|frequency|exceed.{0,20}(usage|rps|limit)|allowed_rps|lack of computing resources/i;

/** As TronGrid and java-tron begin such a text; in an answer about a block the rest may be a third party's text. */
const THROTTLED_BEGINNING =
  /^(The key exceeds|request rate exceeded|Exceed the user daily usage|class java\.lang\.IllegalAccessException)/i;

/** Four processes together stay below what a port of java-tron serves. */
const CONNECTIONS_MAX = 12;
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** A block of java-tron holds at most 2 MB of transactions; as JSON several times that. */
const BLOCK_BYTES_MAX = 64 * 1024 * 1024;
/** Such a block over a slow link. Nothing waits for it but what the block itself is about. */
const BLOCK_TIMEOUT_MS = 30_000;

/** An answer that is none. Silence and throttling have their own back-off; our own budget is no fault of a node. */
const BABBLE: ReadonlySet<NodeError['kind']> = new Set(['nonsense', 'http', 'refused']);

interface SeenHead extends BlockHead {
  /** The highest number ever seen here. Backends behind one name take turns, so that lower ones are seen between. */
  readonly highest: number;
  /** When a head as high as that was returned last. One that is not returned any more measures no movement. */
  readonly highestAtMs: number;
  /** When this process first saw a head this high, by the monotonic clock. */
  readonly advancedAtMs: number;
}

interface Terms {
  readonly timeoutMs: number;
  /** What is asked in its own way; `undefined` for everything that is no block. */
  readonly manner?: Manner;
  /** Nothing waits for the answer: it is asked for where the budget has places to spare, and silence keeps nobody away. */
  readonly isAside?: true;
}

export class TronNode {
  readonly name: string;
  readonly blocks: NodeBlocks;
  /** Whose word an answer about final blocks is: two names of one solid port are one witness. */
  readonly witness: string;
  private readonly connections: Connections;
  private seen: SeenHead | undefined;
  private backoffUntilMs = 0;
  private silentUntilMs = 0;
  private throttledInARow = 0;
  /** Its last answer about the head was no block: what else it says is not believed until it returns a block. */
  private isBabbling = false;
  private headReadAtMs = Number.NEGATIVE_INFINITY;
  /** When its head was last believed. */
  private believedAtMs = monotonicMs();
  /** Questions to a witness that get no answer: since when, and when last. */
  private readonly unanswered = new Map<string, { readonly sinceMs: number; readonly lastMs: number }>();

  constructor(private readonly options: NodeOptions) {
    this.name = new URL(options.fullUrl).host;
    this.connections = new Connections(options.connectionsMax ?? CONNECTIONS_MAX);
    this.witness = new URL(options.solidUrl).host;
    this.blocks = new NodeBlocks(this.name, async (port, path, body, manner) =>
      this.ask(port, path, body, {
        timeoutMs: manner === 'block' ? BLOCK_TIMEOUT_MS : options.readTimeoutMs,
        manner,
      }),
    );
  }

  /** The highest head this process has seen here. */
  get head(): BlockHead | undefined {
    return this.seen;
  }

  /** Milliseconds since the head last moved (docs/interface.md §18); infinite before the first one. */
  get stalledMs(): number {
    return this.seen === undefined ? Number.POSITIVE_INFINITY : monotonicMs() - this.seen.advancedAtMs;
  }

  /** Milliseconds since it last returned its head; infinite before. */
  get headAgeReadMs(): number {
    return monotonicMs() - this.headReadAtMs;
  }

  /** Whether the head has moved lately, whatever else keeps the node from being asked. */
  get isMoving(): boolean {
    return this.stalledMs <= this.options.headStallSec * 1000;
  }

  /** How long it has been no witness: a question unanswered each time it was asked, or a head that is not believed. */
  get awayMs(): number {
    const now = monotonicMs();
    const since = [...this.unanswered.values()].flatMap(({ sinceMs, lastMs }) =>
      now - lastMs <= UNANSWERED_KEPT_MS ? sinceMs : [],
    );
    return now - Math.min(now, ...since, this.isBelieved ? now : this.believedAtMs);
  }

  /** Failed or throttled lately: others are asked first. */
  get isBackedOff(): boolean {
    return monotonicMs() < this.backoffUntilMs;
  }

  /** Throttled so lately that asking again would only prolong it. */
  get isSilenced(): boolean {
    return monotonicMs() < this.silentUntilMs;
  }

  /** Whether what this node says of the chain's state is believed, by the head it last returned. */
  get isBelieved(): boolean {
    return this.seen !== undefined && !this.isBabbling && this.isMoving && this.isOnTime;
  }

  /** Whether its head is neither too old nor ahead of the wall clock; where that is not judged, whether it has one. */
  get isOnTime(): boolean {
    if (this.seen === undefined) return false;
    const { headAgeMaxSec } = this.options;
    const ageMs = nowMs() - this.seen.timestampMs;
    return headAgeMaxSec === 0 || (ageMs <= headAgeMaxSec * 1000 && ageMs >= -CLOCK_SKEW_MAX_MS);
  }

  /** Believed, and not failing lately. */
  get isHealthy(): boolean {
    return this.isBelieved && !this.isBackedOff;
  }

  /** Asks for the head and remembers it. Throws NodeFault. */
  async readHead(): Promise<BlockHeader> {
    const block = await this.askForHead();
    const seen = this.seen;
    if (seen === undefined || block.number > seen.number || block.id !== seen.id) {
      // A lower head is a fork or another backend behind one name; only beyond the highest one it counts as movement.
      const now = monotonicMs();
      const isGone = seen !== undefined && now - seen.highestAtMs > this.options.headStallSec * 1000;
      const highest = isGone ? seen.number : (seen?.highest ?? 0);
      const advanced = seen === undefined || block.number > highest;
      this.seen = {
        number: block.number,
        id: block.id,
        timestampMs: block.timestampMs,
        highest: Math.max(block.number, highest),
        highestAtMs: block.number >= highest ? now : (seen?.highestAtMs ?? now),
        advancedAtMs: advanced ? now : seen.advancedAtMs,
      };
    } else if (block.number >= seen.highest) {
      this.seen = { ...seen, highestAtMs: monotonicMs() };
    }
    if (this.isBelieved) this.believedAtMs = monotonicMs();
    return block;
  }

  /** An empty object at every path says "no such account" of everybody; as a head it is found out. */
  private async askForHead(): Promise<BlockHeader> {
    try {
      const block = await this.blocks.head('full');
      this.isBabbling = false;
      this.headReadAtMs = monotonicMs();
      this.unanswered.delete(HEAD);
      return block;
    } catch (error) {
      this.noteSilence(HEAD);
      if (error instanceof NodeError && BABBLE.has(error.kind)) this.isBabbling = true;
      throw error;
    }
  }

  /** POST to the full port. */
  async full(path: string, body: JsonObject): Promise<JsonObject> {
    return this.object('full', path, body, { timeoutMs: this.options.readTimeoutMs });
  }

  /** POST to the full port, about what nothing hangs on. Throws NodeFault, also when there is no place to spare. */
  async aside(path: string, body: JsonObject): Promise<JsonObject> {
    return this.object('full', path, body, { timeoutMs: this.options.readTimeoutMs, isAside: true });
  }

  /** POST to the solid port, whose answers are final. */
  async solid(path: string, body: JsonObject): Promise<JsonObject> {
    return this.object('solid', path, body, { timeoutMs: this.options.readTimeoutMs });
  }

  /** Sends a signed transaction's bytes. Whatever comes back, or nothing, proves nothing. */
  async broadcastHex(transactionHex: string): Promise<JsonObject> {
    const terms = { timeoutMs: this.options.broadcastTimeoutMs };
    return this.object('full', BROADCAST_PATH, { transaction: transactionHex }, terms);
  }

  private async object(port: PortName, path: string, body: JsonObject, terms: Terms): Promise<JsonObject> {
    const json = await this.ask(port, path, body, terms);
    if (isJsonObject(json)) return json;
    // TRON: a lite fullnode answers with a text at what it has closed, and 200.
    if (port === 'solid') this.noteSilence(path);
    throw new NodeError(this.name, 'nonsense', `${path} answered no JSON object`);
  }

  private async ask(port: PortName, path: string, body: JsonObject, terms: Terms): Promise<unknown> {
    if (port === 'full') return this.request(port, path, body, terms);
    try {
      const answer = await this.request(port, path, body, terms);
      if (typeof answer === 'object') this.unanswered.delete(path);
      return answer;
    } catch (error) {
      // That a provider does not give what is in a block is no silence.
      if (terms.manner !== 'block' || path === WHOLE_HEAD) this.noteSilence(path);
      throw error;
    }
  }

  private async request(port: PortName, path: string, body: JsonObject, terms: Terms): Promise<unknown> {
    if (this.isSilenced && path !== BROADCAST_PATH) {
      throw new NodeError(this.name, 'throttled', `${path} is not asked while throttled`, undefined, false);
    }
    const { admit, admitSpare } = this.options;
    if ((await (terms.isAside ? admitSpare?.() : admit?.(path))) === false) {
      throw new NodeError(this.name, 'throttled', `${path} found no place in the request budget`, undefined, false);
    }
    const { status, text } = await this.exchange(port, path, body, terms);
    // TRON (TronGrid): 403 is also said of an endpoint that a provider does not offer.
    const isRefusal = status === 403 && terms.manner === 'head' && !THROTTLED_TEXT.test(text);
    if (THROTTLED_STATUS.has(status) && !isRefusal) throw this.throttled(path, `HTTP ${status.toString()}`);
    if (status !== 200) throw new NodeError(this.name, 'http', `${path} answered HTTP ${status.toString()}`);
    const json = terms.manner === 'block' ? plainJson(text) : parseJson(text);
    const error = isJsonObject(json) ? json['Error'] : undefined;
    if (typeof error === 'string') {
      const throttled = terms.manner === 'block' ? THROTTLED_BEGINNING : THROTTLED_TEXT;
      if (throttled.test(error)) throw this.throttled(path, 'suspended');
      throw new NodeError(this.name, 'refused', `${path}: ${error.slice(0, 300)}`);
    }
    this.throttledInARow = 0;
    return json;
  }

  private async exchange(port: PortName, path: string, body: JsonObject, terms: Terms): Promise<Answer> {
    const { apiKey, fullUrl, solidUrl } = this.options;
    const base = port === 'full' ? fullUrl : solidUrl;
    try {
      const question = {
        url: urlAt(base, path),
        headers: {
          'content-type': 'application/json',
          ...(apiKey === undefined ? {} : { 'TRON-PRO-API-KEY': apiKey }),
          ...authorizationOf(base),
        },
        body: JSON.stringify(body),
        timeoutMs: terms.timeoutMs,
        bytesMax: terms.manner === 'block' ? BLOCK_BYTES_MAX : ANSWER_BYTES_MAX,
      };
      return await this.connections.post(question, path === BROADCAST_PATH);
    } catch (error) {
      if (error instanceof UnreadableAnswerError) {
        throw new NodeError(this.name, 'nonsense', `${path}: ${error.message}`, error);
      }
      const isSent = !(error instanceof NotSentError);
      const reason: unknown = isSent ? error : error.cause;
      const timedOut = reason instanceof DeadlineError;
      // What a block holds is no fault of the node, and what nothing hangs on shall change nothing.
      if (terms.manner !== 'block' && terms.isAside !== true) this.backOff(FAILURE_BACKOFF_MS);
      const kind = timedOut ? 'timeout' : 'unreachable';
      const says = timedOut ? 'no answer in time' : messageOf(reason);
      throw new NodeError(this.name, kind, `${path}: ${says}`, reason, isSent);
    }
  }

  /** A gateway refused it, so no node behind it heard the request. */
  private throttled(path: string, how: string): NodeError {
    this.options.onThrottled?.(path);
    this.backOff(THROTTLE_BACKOFF_MS);
    const silenceMs = Math.min(THROTTLE_BACKOFF_MS, THROTTLE_SILENCE_MS * 2 ** this.throttledInARow);
    this.throttledInARow = Math.min(this.throttledInARow + 1, 10);
    this.silentUntilMs = Math.max(this.silentUntilMs, monotonicMs() + silenceMs);
    return new NodeError(this.name, 'throttled', `${path} was throttled (${how})`, undefined, false);
  }

  private noteSilence(question: string): void {
    const now = monotonicMs();
    const known = this.unanswered.get(question);
    const isLasting = known !== undefined && now - known.lastMs <= UNANSWERED_KEPT_MS;
    this.unanswered.set(question, { sinceMs: isLasting ? known.sinceMs : now, lastMs: now });
  }

  private backOff(ms: number): void {
    this.backoffUntilMs = Math.max(this.backoffUntilMs, monotonicMs() + ms);
  }
}
