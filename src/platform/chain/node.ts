/**
 * One TRON node over HTTP: its full and solid ports, with limits on every call, back-off on throttling, and the state
 * of its head. Judges answers only as answers, not their meaning for an order.
 */
import { DeadlineError, monotonicMs, nowMs } from '../support/clock.js';
import { messageOf } from '../../domain/errors.js';
import { NodeError } from './errors.js';
import { Connections, NotSentError, UnreadableAnswerError, type Answer } from './exchange.js';
import { isJsonObject, parseJson, plainJson, type JsonObject } from './json.js';
import type { BlockHead, BlockHeader } from './block.js';
import { authorizationOf, urlAt } from './node-url.js';
import { NodeBlocks, type Manner, type PortName } from './node-blocks.js';

export interface NodeOptions {
  /** Its name in logs, metrics and records; default: the host of `fullUrl`. */
  readonly name?: string;
  readonly fullUrl: string;
  readonly solidUrl: string;
  readonly apiKey: string | undefined;
  readonly readTimeoutMs: number;
  readonly broadcastTimeoutMs: number;
  readonly headStallSec: number;
  readonly headAgeMaxSec: number;
  /** Concurrent connections of this process to each port; default CONNECTIONS_MAX. */
  readonly connectionsMax?: number;
  /** Waits for a place in the request budget shared by all processes. Resolves to false when none is free in time. */
  readonly admit?: (path: string) => Promise<boolean>;
  /** Called when the node throttles a request, once for consecutive throttled answers. */
  readonly onThrottled?: (path: string) => void;
  /** Takes a place if the budget has some to spare; otherwise resolves to false. */
  readonly admitSpare?: () => Promise<boolean>;
}

/** TRON (TronGrid): over the limit a key is suspended for 30 s. Requests meanwhile prolong it. */
const THROTTLE_BACKOFF_MS = 30_000;
/** Time for which other nodes are preferred after a failure to connect. */
const FAILURE_BACKOFF_MS = 2_000;
/**
 * Time for which a throttling node gets no request, even if it is the only one. Doubles with each consecutive throttled
 * answer, up to the full back-off: a gateway that says 503 now and then has not suspended the key.
 */
const THROTTLE_SILENCE_MS = 2_000;
/** Maximum lag of this machine's clock behind the clock of the newest block's producer. */
const CLOCK_SKEW_MAX_MS = 10_000;
/** Callers retry a failed read sooner than this while they still need it. */
const UNANSWERED_KEPT_MS = 60_000;
const HEAD = 'the head';
export const BROADCAST_PATH = 'wallet/broadcasthex';
/**
 * The head of a provider that only returns it with its transactions: limited like a block, but its failure counts as a
 * head's.
 */
const WHOLE_HEAD = 'walletsolidity/getnowblock';
const THROTTLED_STATUS = new Set([403, 429, 503]);
const THROTTLED_TEXT = /suspended|frequency|exceed.{0,20}(usage|rps|limit)|allowed_rps|lack of computing resources/i;

/**
 * Beginnings of throttling texts of TronGrid and java-tron. In an answer about a block, the rest may be a third party's
 * text.
 */
const THROTTLED_BEGINNING =
  /^(The key exceeds|request rate exceeded|Exceed the user daily usage|class java\.lang\.IllegalAccessException)/i;

/** Four processes together stay below the limit of a java-tron port. */
const CONNECTIONS_MAX = 12;
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** A java-tron block has at most 2 MB of transactions; as JSON it is several times that. */
const BLOCK_BYTES_MAX = 64 * 1024 * 1024;
/** Long enough for such a block over a slow link. Only work on that block waits for it. */
const BLOCK_TIMEOUT_MS = 30_000;

/**
 * Kinds of unusable answers. Silence and throttling have their own back-off; our own request budget is no fault of the
 * node.
 */
const BABBLE: ReadonlySet<NodeError['kind']> = new Set(['nonsense', 'http', 'refused']);

interface SeenHead extends BlockHead {
  /** The highest number ever seen here. Backends behind one name alternate, so lower heads appear in between. */
  readonly highest: number;
  /**
   * The last time that a head this high was returned. A highest head that is no longer returned does not measure
   * movement.
   */
  readonly highestAtMs: number;
  /** The time at which this process first saw a head this high, by the monotonic clock. */
  readonly advancedAtMs: number;
}

interface Terms {
  readonly timeoutMs: number;
  /** Manner of a block request; `undefined` for all other requests. */
  readonly manner?: Manner;
  /**
   * Nothing waits for the answer: it uses only spare places of the budget, and a timeout or connection failure causes
   * no back-off.
   */
  readonly isAside?: true;
}

export class TronNode {
  readonly name: string;
  readonly blocks: NodeBlocks;
  /** The identity of a witness: two names of one solid port are one witness. */
  readonly witness: string;
  /** The host of the full port: two names with one host are one source of answers. */
  readonly fullHost: string;
  private readonly connections: Connections;
  private seen: SeenHead | undefined;
  private backoffUntilMs = 0;
  private silentUntilMs = 0;
  private throttledInARow = 0;
  private answers = 0;
  /** For each path the number of answers before its first 403; infinite once the path was answered. */
  private readonly forbidden = new Map<string, number>();
  /** True if its last head was no block. The node is not believed until it returns a block. */
  private isBabbling = false;
  private headReadAtMs = Number.NEGATIVE_INFINITY;
  /** The last time that its head was believed. */
  private believedAtMs = monotonicMs();
  /** Ports whose last request got no answer, with the reason. */
  private readonly portFaults = new Map<PortName, string>();
  /** Unanswered requests to a witness: the first and the latest failure of each path. */
  private readonly unanswered = new Map<string, { readonly sinceMs: number; readonly lastMs: number }>();

  constructor(private readonly options: NodeOptions) {
    this.fullHost = new URL(options.fullUrl).host;
    this.name = options.name ?? this.fullHost;
    this.connections = new Connections(options.connectionsMax ?? CONNECTIONS_MAX);
    this.witness = new URL(options.solidUrl).host;
    this.blocks = new NodeBlocks(this.name, async (port, path, body, manner) =>
      this.ask(port, path, body, {
        timeoutMs: manner === 'block' ? BLOCK_TIMEOUT_MS : options.readTimeoutMs,
        manner,
      }),
    );
  }

  /** The last head read from this node. */
  get head(): BlockHead | undefined {
    return this.seen;
  }

  /** Milliseconds since the head last moved (docs/interface.md §18); infinite before the first head. */
  get stalledMs(): number {
    return this.seen === undefined ? Number.POSITIVE_INFINITY : monotonicMs() - this.seen.advancedAtMs;
  }

  /** Returns the reason why the last request to a port got no answer, or undefined if it got one or none was made. */
  portFault(port: PortName): string | undefined {
    return this.portFaults.get(port);
  }

  /** Milliseconds since it last returned its head; infinite before the first head. */
  get headAgeReadMs(): number {
    return monotonicMs() - this.headReadAtMs;
  }

  /** True if the head has moved recently, even if the node is not asked for other reasons. */
  get isMoving(): boolean {
    return this.stalledMs <= this.options.headStallSec * 1000;
  }

  /** Milliseconds since it stopped being a witness: a request fails every time, or its head is not believed. */
  get awayMs(): number {
    const now = monotonicMs();
    const since = [...this.unanswered.values()].flatMap(({ sinceMs, lastMs }) =>
      now - lastMs <= UNANSWERED_KEPT_MS ? sinceMs : [],
    );
    return now - Math.min(now, ...since, this.isBelieved ? now : this.believedAtMs);
  }

  /** Failed or throttled recently: other nodes are preferred. */
  get isBackedOff(): boolean {
    return monotonicMs() < this.backoffUntilMs;
  }

  /** Throttled so recently that a request would only prolong it. */
  get isSilenced(): boolean {
    return monotonicMs() < this.silentUntilMs;
  }

  /** True if the node's statements on the chain's state are believed, judging by its last head. */
  get isBelieved(): boolean {
    return this.seen !== undefined && !this.isBabbling && this.isMoving && this.isOnTime;
  }

  /**
   * True if its head is neither too old nor ahead of the wall clock. Where the age limit is off, true if it has a head.
   */
  get isOnTime(): boolean {
    if (this.seen === undefined) return false;
    const { headAgeMaxSec } = this.options;
    const ageMs = nowMs() - this.seen.timestampMs;
    return headAgeMaxSec === 0 || (ageMs <= headAgeMaxSec * 1000 && ageMs >= -CLOCK_SKEW_MAX_MS);
  }

  /** Believed, and not failing recently. */
  get isHealthy(): boolean {
    return this.isBelieved && !this.isBackedOff;
  }

  /** Reads and remembers the head. Throws NodeError. */
  async readHead(): Promise<BlockHeader> {
    const block = await this.askForHead();
    const seen = this.seen;
    if (seen === undefined || block.number > seen.number || block.id !== seen.id) {
      // A lower head means a fork, or another backend behind one name. Only a head above the highest one counts as
      // movement.
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

  /** A node that answers every path with an empty object would report any account as missing. Its head exposes it. */
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

  /** POSTs to the full port. */
  async postFull(path: string, body: JsonObject): Promise<JsonObject> {
    return this.object('full', path, body, { timeoutMs: this.options.readTimeoutMs });
  }

  /** POSTs an optional request to the full port. Throws NodeError, also when the budget has no place to spare. */
  async postAside(path: string, body: JsonObject): Promise<JsonObject> {
    return this.object('full', path, body, { timeoutMs: this.options.readTimeoutMs, isAside: true });
  }

  /** POSTs to the solid port, whose answers are final. */
  async postSolid(path: string, body: JsonObject): Promise<JsonObject> {
    return this.object('solid', path, body, { timeoutMs: this.options.readTimeoutMs });
  }

  /** Broadcasts a signed transaction's bytes. Neither an answer nor its absence proves anything. */
  async broadcastHex(transactionHex: string): Promise<JsonObject> {
    const terms = { timeoutMs: this.options.broadcastTimeoutMs };
    return this.object('full', BROADCAST_PATH, { transaction: transactionHex }, terms);
  }

  private async object(port: PortName, path: string, body: JsonObject, terms: Terms): Promise<JsonObject> {
    const json = await this.ask(port, path, body, terms);
    if (isJsonObject(json)) return json;
    // TRON: a lite fullnode answers a disabled path with a text and status 200.
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
      // A provider that does not return a block's content is not silent.
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
    const isRefusal = status === 403 && !THROTTLED_TEXT.test(text) && this.noteForbidden(path, terms.manner);
    if (THROTTLED_STATUS.has(status) && !isRefusal) throw this.throttledError(path, `HTTP ${status.toString()}`);
    if (status !== 200) throw new NodeError(this.name, 'http', `${path} answered HTTP ${status.toString()}`);
    const json = terms.manner === 'block' ? plainJson(text) : parseJson(text);
    const error = isJsonObject(json) ? json['Error'] : undefined;
    if (typeof error === 'string') {
      const throttled = terms.manner === 'block' ? THROTTLED_BEGINNING : THROTTLED_TEXT;
      if (throttled.test(error)) throw this.throttledError(path, 'suspended');
      throw new NodeError(this.name, 'refused', `${path}: ${error.slice(0, 300)}`);
    }
    this.throttledInARow = 0;
    this.answers += 1;
    this.forbidden.set(path, Number.POSITIVE_INFINITY);
    return json;
  }

  /**
   * Returns true if HTTP 403 means that the provider does not offer an endpoint (TRON: TronGrid, plans of other hosts).
   * It does for a head, and for a path that was never answered once another path was answered since its last 403.
   */
  private noteForbidden(path: string, manner: Manner | undefined): boolean {
    const before = this.forbidden.get(path);
    if (before === undefined) this.forbidden.set(path, this.answers);
    return manner === 'head' || (before !== undefined && this.answers > before);
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
      const answer = await this.connections.post(question, path === BROADCAST_PATH);
      this.portFaults.delete(port);
      return answer;
    } catch (error) {
      if (error instanceof UnreadableAnswerError) {
        throw new NodeError(this.name, 'nonsense', `${path}: ${error.message}`, error);
      }
      const isSent = !(error instanceof NotSentError);
      const reason: unknown = isSent ? error : error.cause;
      const timedOut = reason instanceof DeadlineError;
      // A block's content is no fault of the node, and an optional request must not cause a back-off.
      if (terms.manner !== 'block' && terms.isAside !== true) this.backOff(FAILURE_BACKOFF_MS);
      const kind = timedOut ? 'timeout' : 'unreachable';
      const says = timedOut ? 'no answer in time' : messageOf(reason);
      this.portFaults.set(port, says);
      throw new NodeError(this.name, kind, `${path}: ${says}`, reason, isSent);
    }
  }

  /** A gateway refused it, so no node behind it received the request. */
  private throttledError(path: string, how: string): NodeError {
    // Further refusals in a row are of the same suspension, and say nothing about a rate.
    if (this.throttledInARow === 0) this.options.onThrottled?.(path);
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
