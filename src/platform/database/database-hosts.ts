/**
 * Choice of the database host. With several hosts in DATABASE_URL, each new connection uses the first in their order
 * that takes writes and whose timeline is not below the highest seen. An old primary that came back therefore gets no
 * write, even if it would accept it. For DATABASE_READ_URL it is the first standby of the same cluster and timeline.
 * Processes share their knowledge through the record of timelines.
 */
import { monotonicMs, withDeadline } from '../support/clock.js';
import { postgresHosts, type PostgresHost } from '../support/postgres-url.js';
import { Repeater } from '../support/repeat.js';
import { Semaphore } from '../support/semaphore.js';
import { reportsFrom } from './host-questions.js';
import { judgeHost, judgeReplica, type HostReport, type HostState } from './host-report.js';

/** An attempt this soon after the last round reuses its result, so that an outage causes no storm of checks. */
const PAUSE_MS = 250;
/**
 * Interval at which all hosts are asked during normal operation, so that an old primary is found before a connection
 * needs it.
 */
const WATCH_MS = 5000;
const RECORD_LIMIT_MS = 500;
/** A connection lost during a round makes its reports useless, so the hosts are asked again, this many times. */
const ROUNDS_MAX = 5;

/**
 * Connections that a process makes concurrently. Each costs both sides tens of milliseconds of CPU (password, session,
 * first plans). If a failover caused sixteen concurrent ones, all would be late. With three in turn, the first serves
 * immediately.
 */
const CONNECTING_MAX = 3;

/** The timelines that all processes have seen, kept outside of Postgres. Losing the record loses no order. */
export interface TimelineRecord {
  /** The highest timeline by the cluster's system identifier. */
  readonly read: () => Promise<ReadonlyMap<string, number>>;
  readonly raise: (system: string, timeline: number) => Promise<void>;
  readonly close: () => void;
}

/** No host is usable; the message gives the reason for each. */
class NoHostError extends Error {
  override readonly name = 'NoHostError';
  /** `isConnectionFault` recognizes this code. */
  readonly code = 'ENOHOST';
}

/** A live connection, so that it can be closed when a higher timeline is seen. */
interface Session {
  readonly timeline: number | undefined;
  readonly close: () => void;
}

interface Options {
  /** The wanted kind of host; the default is one that takes writes. */
  readonly wanted?: 'writable' | 'standby';
  readonly record?: TimelineRecord;
  /** Called when the serving host changes, and when a host is refused as old or foreign. */
  readonly onChange?: (text: string, fields: Readonly<Record<string, unknown>>) => void;
}

export class DatabaseHosts {
  readonly all: readonly PostgresHost[];
  /** Bounds concurrent connection attempts. */
  readonly connectSemaphore = new Semaphore(CONNECTING_MAX);
  private readonly wanted: 'writable' | 'standby';
  private readonly states = new Map<string, HostState>();
  private readonly sessions = new Set<Session>();
  private current: PostgresHost | undefined;
  /** The system identifier of the first host that served. A host of another cluster is never used. */
  private system: string | undefined;
  private highest = 0;
  /** The number of lost connections. A report from before a loss does not show which host serves after it. */
  private losses = 0;
  /** The record as last read. */
  private recorded: ReadonlyMap<string, number> = new Map();
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private asking: Promise<PostgresHost> | undefined;
  private failed: { readonly error: Error; readonly atMs: number } | undefined;
  private readonly watching = new Repeater({
    run: async () => {
      await this.ask().catch(() => undefined);
      return WATCH_MS;
    },
    retryMs: WATCH_MS,
    onFailure: () => undefined,
  });

  /** Throws if the URL is invalid; the settings have validated it before. */
  constructor(
    url: string,
    private readonly options: Options = {},
  ) {
    this.wanted = options.wanted ?? 'writable';
    const hosts = postgresHosts(url, this.wanted === 'standby' ? 'standby' : undefined);
    if (typeof hosts === 'string') throw new Error(`${this.setting} ${hosts}`);
    this.all = hosts;
    for (const { name } of hosts) this.states.set(name, { state: 'unknown' });
    if (!this.areAsked) this.current = hosts[0];
  }

  /** True if the URL names several hosts. */
  get areSeveral(): boolean {
    return this.all.length > 1;
  }

  /** True if hosts are asked for their state. A single host that should take writes is used unasked. */
  get areAsked(): boolean {
    return this.areSeveral || this.wanted === 'standby';
  }

  /**
   * True if the last choice still holds. A server that restarted as an old primary has lost every connection. So while
   * one of our sessions lives, its server is not such a restart; without a session the hosts are asked again.
   */
  private get isSure(): boolean {
    return !this.areAsked || this.sessions.size > 0 || monotonicMs() - this.askedAtMs < PAUSE_MS;
  }

  private get setting(): string {
    return this.wanted === 'standby' ? 'DATABASE_READ_URL' : 'DATABASE_URL';
  }

  /** The name of the host that connections go to; undefined while none is known. */
  get serving(): string | undefined {
    return this.current?.name;
  }

  /** The highest timeline that this process has seen; 0 if no host has reported one. */
  get timeline(): number {
    return this.highest;
  }

  /** Each host with its state when it was last asked. */
  get known(): ReadonlyMap<string, HostState> {
    return this.states;
  }

  /** Returns the host to connect to. Throws NoHostError. */
  async choose(): Promise<PostgresHost> {
    if (this.current !== undefined && this.isSure) return this.current;
    if (this.failed !== undefined && monotonicMs() - this.failed.atMs < PAUSE_MS) throw this.failed.error;
    return this.ask();
  }

  /**
   * Reports that the host is unreachable, has lost a connection or has changed its state; the next connection asks all
   * hosts. Reconnecting to the same host could reach a restarted former primary, which knows of no newer one.
   */
  reportLoss(host: PostgresHost): void {
    if (!this.areAsked) return;
    this.losses += 1;
    if (this.current === host) this.current = undefined;
  }

  /**
   * Reports that the serving host has changed its state: closes all its connections. The next connection asks all
   * hosts.
   */
  leaveServingHost(): void {
    if (!this.areAsked) return;
    this.current = undefined;
    for (const session of [...this.sessions]) session.close();
  }

  /** Returns the reason why a new connection must not be used; undefined if it may be used. */
  refuse(host: PostgresHost, report: HostReport): string | undefined {
    this.learn([report]);
    const state = this.stateOf(report);
    this.states.set(host.name, state);
    return state.state === this.wanted ? undefined : `${host.name} ${state.reason ?? ''}`;
  }

  /** Records the cluster and the timeline that a serving server reports. */
  recordServer(system: string, timeline: number): void {
    this.system ??= system;
    this.raiseTimeline(timeline);
  }

  /** Registers the connection; it is closed if a higher timeline is seen. The returned function removes it. */
  remember(session: Session): () => void {
    this.sessions.add(session);
    return () => this.sessions.delete(session);
  }

  /** Asks all hosts every few seconds until `stop`. Does nothing for a single unasked host. */
  watch(): void {
    if (this.areAsked) void this.watching.start();
  }

  async stop(): Promise<void> {
    if (this.areAsked) await this.watching.stop();
    this.options.record?.close();
  }

  /** Asks all hosts; concurrent callers share one round. */
  private async ask(): Promise<PostgresHost> {
    this.asking ??= this.askAll().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async askAll(): Promise<PostgresHost> {
    for (let round = 1; ; round += 1) {
      const { losses } = this;
      const [answers] = await Promise.all([reportsFrom(this.all, this.wanted), this.readRecord()]);
      this.learn(answers.map(([, report]) => report));
      const judged = answers.map(([host, report]) => [host, this.stateOf(report)] as const);
      for (const [{ name }, state] of judged) this.note(name, state);
      if (losses === this.losses) return this.chooseFrom(judged);
      if (round === ROUNDS_MAX) throw this.failWith(`connections to the hosts of ${this.setting} keep being lost`);
    }
  }

  /** Throws NoHostError if none is usable. */
  private chooseFrom(judged: readonly (readonly [PostgresHost, HostState])[]): PostgresHost {
    const usable = judged.filter(([, { state }]) => state === this.wanted).map(([host]) => host);
    const next = usable.find((host) => host === this.current) ?? usable[0];
    if (next === undefined) {
      const reasons = judged.map(([{ name }, { reason = '' }]) => `${name} ${reason}`);
      const is = this.wanted === 'standby' ? 'is a standby that follows' : 'takes writes';
      throw this.failWith(`no host of ${this.setting} ${is}: ${reasons.join(', ')}`);
    }
    this.failed = undefined;
    if (next !== this.current) {
      const text = this.wanted === 'standby' ? 'this replica serves reads' : 'this host of the database serves';
      this.options.onChange?.(text, { host: next.name, timeline: this.highest });
    }
    this.current = next;
    this.askedAtMs = monotonicMs();
    return next;
  }

  /** Returns the error, which attempts within the pause get as well. */
  private failWith(message: string): NoHostError {
    const error = new NoHostError(message);
    this.current = undefined;
    this.failed = { error, atMs: monotonicMs() };
    return error;
  }

  private stateOf(report: HostReport): HostState {
    const judge = this.wanted === 'standby' ? judgeReplica : judgeHost;
    return judge(report, { system: this.system, timeline: this.highest });
  }

  private note(name: string, state: HostState): void {
    const before = this.states.get(name);
    this.states.set(name, state);
    if (state.state === before?.state || (state.state !== 'old' && state.state !== 'foreign')) return;
    this.options.onChange?.('a host of the database is not used', { host: name, reason: state.reason });
  }

  /** Takes over the highest timeline of the reports and of the record; closes sessions with a lower one. */
  private learn(reports: readonly HostReport[]): void {
    const said = reports.filter((report) => report.kind !== 'away');
    // The primary determines the cluster of a standby (`know`): a foreign server may answer at its address.
    if (this.wanted === 'writable') this.system ??= said.find(({ kind }) => kind === 'writable')?.system;
    const { system } = this;
    if (system === undefined) return;
    const timelines = said.filter((each) => each.system === system).map(({ timeline = 0 }) => timeline);
    const highest = Math.max(this.recorded.get(system) ?? 0, ...timelines);
    // Redis may be unreachable. The timeline is kept here and written again in every round.
    if (this.raiseTimeline(highest)) void this.options.record?.raise(system, highest).catch(() => undefined);
  }

  /** Closes sessions with a lower timeline. Returns true if the timeline is new. */
  private raiseTimeline(timeline: number): boolean {
    if (timeline <= this.highest) return false;
    this.highest = timeline;
    for (const session of [...this.sessions]) {
      if (session.timeline !== undefined && session.timeline < timeline) session.close();
    }
    return true;
  }

  private async readRecord(): Promise<void> {
    const { record } = this.options;
    if (record === undefined) return;
    try {
      this.recorded = await withDeadline(record.read(), RECORD_LIMIT_MS, 'the record of timelines');
      const { system, highest } = this;
      if (system !== undefined && highest > (this.recorded.get(system) ?? 0)) {
        void record.raise(system, highest).catch(() => undefined);
      }
    } catch {
      // Without the record, the reports of the hosts decide.
    }
  }
}
