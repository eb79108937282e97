/**
 * Which of the hosts of DATABASE_URL serves. With several, whoever makes a connection asks here: the first, in their order,
 * that takes writes and is of a timeline not below the highest seen. So an old primary that came back takes no write, however
 * willing it is. Owns what this process knows of its hosts; another process's knowledge comes by the record of timelines.
 */
import pg from 'pg';
import { monotonicMs, sleep, withDeadline } from '../base/clock.js';
import { postgresHosts, type PostgresHost } from '../base/postgres-url.js';
import { Repeater } from '../base/repeat.js';
import { reasonOf } from '../domain/errors.js';
import { judgeHost, reportOf, type HostReport, type HostState } from './host-report.js';

/** How long one host may take to say what it is; all are asked at once. */
const ASK_LIMIT_MS = 4000;
/** How long the others may still take once one has said that it takes writes: one of them may know a higher timeline. */
const GRACE_MS = 1000;
/** Who comes again this soon after no host took writes gets the same answer: an outage is no reason for a storm. */
const PAUSE_MS = 250;
/** How often all hosts are asked while everything works: so an old primary is seen before anybody meets it. */
const WATCH_MS = 5000;
const RECORD_LIMIT_MS = 500;

/** What all processes have seen, kept outside of Postgres; losing it loses no order. */
export interface TimelineRecord {
  /** The highest timeline by the cluster's system identifier. */
  readonly read: () => Promise<ReadonlyMap<string, number>>;
  readonly raise: (system: string, timeline: number) => Promise<void>;
  readonly close: () => void;
}

/** No host takes writes; the message says of each why. */
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
  readonly record?: TimelineRecord;
  /** Called when another host serves than before, and when a host is refused for its timeline. */
  readonly onChange?: (text: string, fields: Readonly<Record<string, unknown>>) => void;
}

export class DatabaseHosts {
  readonly all: readonly PostgresHost[];
  private readonly states = new Map<string, HostState>();
  private readonly sessions = new Set<Session>();
  private current: PostgresHost | undefined;
  /** The cluster whose hosts these are, from the first that served; a host of another one is never used. */
  private system: string | undefined;
  private highest = 0;
  /** What the record held when it was last read. */
  private recorded: ReadonlyMap<string, number> = new Map();
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
    const hosts = postgresHosts(url);
    if (typeof hosts === 'string') throw new Error(`DATABASE_URL ${hosts}`);
    this.all = hosts;
    for (const { name } of hosts) this.states.set(name, { state: 'unknown' });
    if (hosts.length === 1) this.current = hosts[0];
  }

  /** Whether there is a choice. A single host is taken as it is: nothing is asked of it. */
  get areSeveral(): boolean {
    return this.all.length > 1;
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
    if (this.current !== undefined) return this.current;
    if (this.failed !== undefined && monotonicMs() - this.failed.atMs < PAUSE_MS) throw this.failed.error;
    return this.ask();
  }

  /** This host is not there, or is not what it was: the next connection asks all of them. */
  lose(host: PostgresHost): void {
    if (this.areSeveral && this.current === host) this.current = undefined;
  }

  /** Says why a connection that was just made must not be used; undefined when it may be. */
  refuse(host: PostgresHost, report: HostReport): string | undefined {
    this.learn([report]);
    const state = this.judged(report);
    this.states.set(host.name, state);
    return state.state === 'writable' ? undefined : `${host.name} ${state.reason ?? ''}`;
  }

  /** Keeps the connection in mind until `forget`: it is closed when its server turns out to be an old primary. */
  remember(session: Session): () => void {
    this.sessions.add(session);
    return () => this.sessions.delete(session);
  }

  /** Asks all hosts every few seconds, until `stop`. Nothing where there is one. */
  watch(): void {
    if (this.areSeveral) void this.watching.start();
  }

  async stop(): Promise<void> {
    if (this.areSeveral) await this.watching.stop();
    this.options.record?.close();
  }

  /** Asks all hosts, one round for everybody who waits. */
  private async ask(): Promise<PostgresHost> {
    this.asking ??= this.askAll().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async askAll(): Promise<PostgresHost> {
    const [answers] = await Promise.all([reportsFrom(this.all), this.readRecord()]);
    this.learn(answers.map(([, report]) => report));
    const judged = answers.map(([host, report]) => [host, this.judged(report)] as const);
    for (const [{ name }, state] of judged) this.note(name, state);
    const usable = judged.filter(([, { state }]) => state === 'writable').map(([host]) => host);
    const next = usable.find((host) => host === this.current) ?? usable[0];
    if (next === undefined) {
      const reasons = judged.map(([{ name }, { reason = '' }]) => `${name} ${reason}`);
      const error = new NoHostError(`no host of DATABASE_URL takes writes: ${reasons.join(', ')}`);
      this.current = undefined;
      this.failed = { error, atMs: monotonicMs() };
      throw error;
    }
    this.failed = undefined;
    if (next !== this.current) {
      this.options.onChange?.('this host of the database serves', { host: next.name, timeline: this.highest });
    }
    this.current = next;
    return next;
  }

  private judged(report: HostReport): HostState {
    return judgeHost(report, { system: this.system, timeline: this.highest });
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
    this.system ??= said.find(({ kind }) => kind === 'writable')?.system;
    const { system } = this;
    if (system === undefined) return;
    const timelines = said.filter((each) => each.system === system).map(({ timeline = 0 }) => timeline);
    const highest = Math.max(this.recorded.get(system) ?? 0, ...timelines);
    if (highest <= this.highest) return;
    this.highest = highest;
    for (const session of [...this.sessions]) {
      if (session.timeline !== undefined && session.timeline < highest) session.close();
    }
    // Redis may be away: what was seen is kept here, and written again with every round.
    void this.options.record?.raise(system, highest).catch(() => undefined);
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

/** What the hosts say, in their order; not waiting for a silent one much longer than for one that takes writes. */
async function reportsFrom(hosts: readonly PostgresHost[]): Promise<(readonly [PostgresHost, HostReport])[]> {
  const reports = new Map<PostgresHost, HostReport>();
  const over = new AbortController();
  const asked = hosts.map(async (host) => {
    const report = await reportFrom(host);
    reports.set(host, report);
    if (report.kind !== 'writable') throw new Error('of no use');
  });
  const enough = Promise.any(asked).then(
    async () => sleep(GRACE_MS, over.signal),
    async () => Promise.allSettled(asked),
  );
  await Promise.race([Promise.allSettled(asked), enough]);
  over.abort();
  return hosts.map((host) => [host, reports.get(host) ?? { kind: 'away', reason: 'it has not answered yet' }] as const);
}

/** What a host says of itself, within a bound; never throws. */
async function reportFrom(host: PostgresHost): Promise<HostReport> {
  const client = new pg.Client({
    connectionString: host.url,
    connectionTimeoutMillis: ASK_LIMIT_MS,
    query_timeout: ASK_LIMIT_MS,
    application_name: 'energy-hosts',
  });
  client.on('error', () => undefined);
  try {
    const asked = client.connect().then(async () => reportOf(client));
    return await withDeadline(asked, ASK_LIMIT_MS, 'it');
  } catch (error) {
    return { kind: 'away', reason: reasonOf(error) };
  } finally {
    void client.end().catch(() => undefined);
  }
}
