/**
 * Which of the hosts of DATABASE_URL serves. With several, whoever makes a connection asks here: the first, in their order,
 * that takes writes and is of a timeline not below the highest seen. So an old primary that came back takes no write, however
 * willing it is. Of DATABASE_READ_URL it is the first standby of the same cluster and timeline.
 * Owns what this process knows of its hosts; another process's knowledge comes by the record of timelines.
 */
import { monotonicMs, withDeadline } from '../base/clock.js';
import { postgresHosts, type PostgresHost } from '../base/postgres-url.js';
import { Repeater } from '../base/repeat.js';
import { Turns } from '../base/turns.js';
import { reportsFrom } from './host-questions.js';
import { judgeHost, judgeReplica, type HostReport, type HostState } from './host-report.js';

/** Who comes again this soon after the hosts were asked gets the same answer: an outage is no reason for a storm. */
const PAUSE_MS = 250;
/** How often all hosts are asked while everything works: so an old primary is seen before anybody meets it. */
const WATCH_MS = 5000;
const RECORD_LIMIT_MS = 500;

/**
 * Connections that a process makes at once. Each costs both sides tens of milliseconds of CPU (password, session, first
 * plans): sixteen made together after a failover are all late, the first of three in turn serves at once.
 */
const CONNECTING_MAX = 3;

/** What all processes have seen, kept outside of Postgres; losing it loses no order. */
export interface TimelineRecord {
  /** The highest timeline by the cluster's system identifier. */
  readonly read: () => Promise<ReadonlyMap<string, number>>;
  readonly raise: (system: string, timeline: number) => Promise<void>;
  readonly close: () => void;
}

/** No host is what is wanted; the message says of each why. */
class NoHostError extends Error {
  override readonly name = 'NoHostError';
  /** By which it is known as an error of the connection. */
  readonly code = 'ENOHOST';
}

/** A live connection, so that it can be closed when a higher timeline is seen. */
interface Session {
  readonly timeline: number | undefined;
  readonly close: () => void;
}

interface Options {
  /** What serves; a host that takes writes unless said. */
  readonly wanted?: 'writable' | 'standby';
  readonly record?: TimelineRecord;
  /** Called when another host serves than before, and when a host is refused for its timeline. */
  readonly onChange?: (text: string, fields: Readonly<Record<string, unknown>>) => void;
}

export class DatabaseHosts {
  readonly all: readonly PostgresHost[];
  /** The turns in which connections are made. */
  readonly connecting = new Turns(CONNECTING_MAX);
  private readonly wanted: 'writable' | 'standby';
  private readonly states = new Map<string, HostState>();
  private readonly sessions = new Set<Session>();
  private current: PostgresHost | undefined;
  /** The cluster whose hosts these are, from the first that served; a host of another one is never used. */
  private system: string | undefined;
  private highest = 0;
  /** How many connections were lost: what the hosts said before one of them was says nothing of what serves after it. */
  private losses = 0;
  /** What the record held when it was last read. */
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

  /** Throws on a URL that is none; whoever reads settings has judged it before. */
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

  /** Whether there is a choice. */
  get areSeveral(): boolean {
    return this.all.length > 1;
  }

  /** Whether they are asked what they are. A single host that is to take writes is taken as it is. */
  get areAsked(): boolean {
    return this.areSeveral || this.wanted === 'standby';
  }

  /**
   * Whether what serves is what served a moment ago. A server that was started anew as an old primary has lost every
   * connection, so while one of ours lives it is none; who has none asks.
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

  /** The highest timeline that this process knows of; 0 when no host has said. */
  get timeline(): number {
    return this.highest;
  }

  /** Each host with what it was when it was last asked. */
  get known(): ReadonlyMap<string, HostState> {
    return this.states;
  }

  /** The host to connect to. Throws NoHostError. */
  async choose(): Promise<PostgresHost> {
    if (this.current !== undefined && this.isSure) return this.current;
    if (this.failed !== undefined && monotonicMs() - this.failed.atMs < PAUSE_MS) throw this.failed.error;
    return this.ask();
  }

  /**
   * This host is not there, a connection to it was lost, or it is not what it was: the next connection asks all of them.
   * Who goes back to where a connection was lost finds an old primary that was started anew, and knows of no other.
   */
  lose(host: PostgresHost): void {
    if (!this.areAsked) return;
    this.losses += 1;
    if (this.current === host) this.current = undefined;
  }

  /** What serves is not what it was: closes what is connected to it, and the next connection asks all of them. */
  leave(): void {
    if (!this.areAsked) return;
    this.current = undefined;
    for (const session of [...this.sessions]) session.close();
  }

  /** Says why a connection that was just made must not be used; undefined when it may be. */
  refuse(host: PostgresHost, report: HostReport): string | undefined {
    this.learn([report]);
    const state = this.judged(report);
    this.states.set(host.name, state);
    return state.state === this.wanted ? undefined : `${host.name} ${state.reason ?? ''}`;
  }

  /** Takes the word of a server that is known to serve for which cluster it is, and of which timeline. */
  know(system: string, timeline: number): void {
    this.system ??= system;
    this.raise(timeline);
  }

  /** Keeps the connection in mind until `forget`: it is closed when its server turns out to be an old primary. */
  remember(session: Session): () => void {
    this.sessions.add(session);
    return () => this.sessions.delete(session);
  }

  /** Asks all hosts every few seconds, until `stop`. Nothing where there is one. */
  watch(): void {
    if (this.areAsked) void this.watching.start();
  }

  async stop(): Promise<void> {
    if (this.areAsked) await this.watching.stop();
    this.options.record?.close();
  }

  /** Asks all hosts, one round for everybody who waits. */
  private async ask(): Promise<PostgresHost> {
    this.asking ??= this.askAll().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async askAll(): Promise<PostgresHost> {
    const { losses } = this;
    const [answers] = await Promise.all([reportsFrom(this.all, this.wanted), this.readRecord()]);
    this.learn(answers.map(([, report]) => report));
    const judged = answers.map(([host, report]) => [host, this.judged(report)] as const);
    for (const [{ name }, state] of judged) this.note(name, state);
    if (losses !== this.losses) return this.askAll();
    const usable = judged.filter(([, { state }]) => state === this.wanted).map(([host]) => host);
    const next = usable.find((host) => host === this.current) ?? usable[0];
    if (next === undefined) {
      const reasons = judged.map(([{ name }, { reason = '' }]) => `${name} ${reason}`);
      const is = this.wanted === 'standby' ? 'is a standby that follows' : 'takes writes';
      const error = new NoHostError(`no host of ${this.setting} ${is}: ${reasons.join(', ')}`);
      this.current = undefined;
      this.failed = { error, atMs: monotonicMs() };
      throw error;
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

  private judged(report: HostReport): HostState {
    const judge = this.wanted === 'standby' ? judgeReplica : judgeHost;
    return judge(report, { system: this.system, timeline: this.highest });
  }

  private note(name: string, state: HostState): void {
    const before = this.states.get(name);
    this.states.set(name, state);
    if (state.state === before?.state || (state.state !== 'old' && state.state !== 'foreign')) return;
    this.options.onChange?.('a host of the database is not used', { host: name, reason: state.reason });
  }

  /** Takes over the highest timeline of the reports; closes what is connected to a lower one. */
  private learn(reports: readonly HostReport[]): void {
    const said = reports.filter((report) => report.kind !== 'away');
    // Of which cluster a standby must be the primary says (`know`): any other may stand at its address.
    if (this.wanted === 'writable') this.system ??= said.find(({ kind }) => kind === 'writable')?.system;
    const { system } = this;
    if (system === undefined) return;
    const timelines = said.filter((each) => each.system === system).map(({ timeline = 0 }) => timeline);
    const highest = Math.max(this.recorded.get(system) ?? 0, ...timelines);
    // Redis may be away: what was seen is kept here, and written again with every round.
    if (this.raise(highest)) void this.options.record?.raise(system, highest).catch(() => undefined);
  }

  /** Closes what is connected to a lower timeline; returns whether it was not known yet. */
  private raise(timeline: number): boolean {
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
      // Without it what the hosts say is what there is.
    }
  }
}
