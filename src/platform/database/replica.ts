/**
 * Reads that may be slightly stale, from the standby of DATABASE_READ_URL: later pages, reports, exports. A read names
 * the log position that the server must have (read-mark.ts), so that no caller sees older data than before. If the
 * standby has not reached it, is unreachable or lags, the primary answers. No decision about money uses these reads,
 * and nothing is written.
 */
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { isNativeError } from 'node:util/types';
import type pg from 'pg';
import { monotonicMs, sleep } from '../support/clock.js';
import { Repeater } from '../support/repeat.js';
import { reasonOf } from '../../domain/errors.js';
import { waysOf } from './data-source.js';
import { Database, isDatabaseAway, isRetryable, sqlStateOf, type Transaction } from './database.js';
import { Lag } from './replica-lag.js';
import { cursorParts, lsnOf, markedCursor, markOf, type ReadMark } from './read-mark.js';

/** Interval at which the replica's position is read. */
const PROBE_MS = 2000;
const READ_ONLY = '25006';
/** Interval at which a waiting read checks the replica's position. */
const POLL_MS = 25;
/** Limit of a read's wait for the replica to reach the primary's position. */
const READ_WAIT_MS = 250;
const TRANSACTION_WAIT_MS = 2000;
/** A replica that has not answered by then counts as unreachable. */
const ANSWER_LIMIT_MS = 2000;

/** The primary's insert position. A commit becomes visible only once its record lies before it. */
const WRITTEN = `SELECT pg_current_wal_insert_lsn()::text AS lsn`;
/** The same, with the system identifier and the timeline. */
export const WRITTEN_BY = `${WRITTEN}, (SELECT system_identifier::text FROM pg_control_system()) AS system,
  ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int AS timeline`;
/** Postgres reports a position as replayed only after its changes are visible to reads that begin then. */
export const REPLAYED = `SELECT pg_is_in_recovery() AS standby, pg_last_wal_replay_lsn()::text AS lsn`;
const ASK_REPLAYED = { text: REPLAYED, query_timeout: ANSWER_LIMIT_MS } as const;

export interface Written {
  readonly lsn: string;
  readonly system: string;
  readonly timeline: number;
}

export interface Replayed {
  readonly standby: boolean;
  readonly lsn: string | null;
}

/** Reasons why the primary answered a read that the replica could have answered. */
export const PRIMARY_REASONS = ['away', 'lags', 'behind', 'fault'] as const;
export type PrimaryReason = (typeof PRIMARY_REASONS)[number];

/** Statements and repositories of the answering server. Only for reading. */
export type Reader = Transaction;

/** The member of a page that receives the mark. */
interface Page {
  readonly nextCursor: string | undefined;
}

/** The replica has not reached the position that this read needs, or is no standby any more. */
class BehindError extends Error {
  override readonly name = 'BehindError';
}

@Injectable()
export class Replica implements OnApplicationBootstrap, OnApplicationShutdown {
  /**
   * Called for each read with a mark: the server that answered, or the reason why the primary did. For counting only.
   */
  onRead: ((answeredBy: 'replica' | PrimaryReason) => void) | undefined;

  private readonly replica: Database | undefined;
  private readonly lag: Lag;
  /**
   * The primary's position when this process started. The replica must have reached it, so that it has at least this
   * schema.
   */
  private floor: ReadMark = 0n;
  /** The reason not to use the replica; undefined if it is used. */
  private fault: string | undefined = 'it has not been asked yet';
  private currentProbe: Promise<void> | undefined;
  private readonly probeRepeater = new Repeater({
    run: async () => {
      await this.probe();
      return PROBE_MS;
    },
    retryMs: PROBE_MS,
    onFailure: (error) => {
      this.fault = `the primary does not say how far it is (${reasonOf(error)})`;
    },
  });

  constructor(private readonly primary: Database) {
    const { replica, lagMaxMs } = waysOf(primary.source);
    this.replica = replica && primary.onSource(replica);
    this.lag = new Lag(lagMaxMs);
  }

  /** True if a replica is configured. */
  get isConfigured(): boolean {
    return this.replica !== undefined;
  }

  get hosts(): readonly string[] {
    return this.replica?.hosts.all.map(({ name }) => name) ?? [];
  }

  /** The serving host, the reason if the replica is not used, and the lag. */
  get state(): { readonly serving: string | undefined; readonly fault: string | undefined; readonly lagMs: number } {
    return {
      serving: this.replica?.hosts.serving,
      fault: this.findObstacle()?.text,
      lagMs: this.lag.ms(monotonicMs()),
    };
  }

  onApplicationBootstrap(): void {
    if (this.isConfigured) void this.probeRepeater.start();
  }

  async onApplicationShutdown(): Promise<void> {
    const { replica } = this;
    if (replica === undefined) return;
    await this.probeRepeater.stop();
    await replica.hosts.stop();
    if (replica.source.isInitialized) await replica.source.destroy();
  }

  /** Returns the primary's position, as the mark of later reads. Undefined if they would use the primary anyway. */
  async mark(): Promise<ReadMark | undefined> {
    if (!this.isConfigured) return undefined;
    await this.probeIfNew();
    if (this.findObstacle() !== undefined) return undefined;
    try {
      const [row] = await this.primary.query<{ lsn: string }>(WRITTEN);
      return row && markOf(row.lsn);
    } catch (error) {
      // An earlier read stays valid even if the next one cannot use the replica.
      if (isDatabaseAway(error)) return undefined;
      throw error;
    }
  }

  /** Reads on the replica if it has reached `mark`; otherwise, and without a mark, on the primary. */
  async read<T>(mark: ReadMark | undefined, work: (on: Reader) => Promise<T>): Promise<T> {
    const read = await this.tryReplica(mark, work, 0);
    return read === undefined ? work(this.onPrimary) : read.value;
  }

  /** Reads the current state: waits up to 250 ms for the replica to reach the primary's position. */
  async readNow<T>(work: (on: Reader) => Promise<T>): Promise<T> {
    const read = await this.tryReplica(await this.mark(), work, READ_WAIT_MS);
    return read === undefined ? work(this.onPrimary) : read.value;
  }

  /** Like `readNow`, in one transaction, waiting up to 2 s. `work` may set the isolation level first. */
  async transaction<T>(work: (on: Transaction) => Promise<T>): Promise<T> {
    const read = await this.tryReplica(await this.mark(), work, TRANSACTION_WAIT_MS);
    return read === undefined ? this.primary.transaction(work) : read.value;
  }

  /**
   * Reads a page of a list. The primary answers the first page, so that a caller sees its own writes. The replica
   * answers later pages if it has all data of the first page's time. The cursor carries that mark.
   */
  async page<P extends Page>(
    text: string | undefined,
    read: (on: Reader, cursor: string | undefined) => Promise<P>,
  ): Promise<P> {
    const { cursor, mark } = text === undefined ? { cursor: undefined, mark: undefined } : cursorParts(text);
    const page = await this.read(mark, async (on) => read(on, cursor));
    if (page.nextCursor === undefined) return page;
    return { ...page, nextCursor: markedCursor(page.nextCursor, mark ?? (await this.mark())) };
  }

  private get onPrimary(): Reader {
    const { primary } = this;
    return {
      query: async (statement, params) => primary.query(statement, params),
      repository: (entity) => primary.source.getRepository(entity),
    };
  }

  /** Returns undefined if the primary must answer. Rethrows errors of `work` except faults of the server. */
  private async tryReplica<T>(
    mark: ReadMark | undefined,
    work: (on: Transaction) => Promise<T>,
    waitMs: number,
  ): Promise<{ readonly value: T } | undefined> {
    const { replica } = this;
    if (replica === undefined || mark === undefined) return undefined;
    await this.probeIfNew();
    const reason = this.findObstacle()?.reason;
    if (reason !== undefined) {
      this.reportPrimary(reason);
      return undefined;
    }
    const needed = mark > this.floor ? mark : this.floor;
    try {
      const value = await replica.transaction(work, async (client) => this.waitUntilReplayed(client, needed, waitMs));
      this.onRead?.('replica');
      return { value };
    } catch (error) {
      if (error instanceof BehindError) {
        this.reportPrimary('behind');
        return undefined;
      }
      // A standby cancels reads that conflict with replay.
      if (isRetryable(error)) {
        this.reportPrimary('fault');
        return undefined;
      }
      // A write is a fault of the caller. It is rethrown, because the primary would accept it.
      if (sqlStateOf(error) === READ_ONLY || !isDatabaseAway(error)) throw error;
      this.fault = reasonOf(error);
      this.reportPrimary('away');
      return undefined;
    }
  }

  private reportPrimary(reason: PrimaryReason): void {
    this.onRead?.(reason);
  }

  private findObstacle(): { readonly reason: 'away' | 'lags'; readonly text: string } | undefined {
    if (this.fault !== undefined) return { reason: 'away', text: this.fault };
    const lagMs = this.lag.ms(monotonicMs());
    if (!this.lag.isTooGreat(monotonicMs())) return undefined;
    return { reason: 'lags', text: `it lags by ${(lagMs / 1000).toFixed(0)} s` };
  }

  private async waitUntilReplayed(client: pg.ClientBase, needed: ReadMark, waitMs: number): Promise<void> {
    const endsAt = monotonicMs() + waitMs;
    for (;;) {
      const { rows } = await client.query<Replayed>(ASK_REPLAYED);
      const [row] = rows;
      if (row?.standby !== true || row.lsn === null) throw new BehindError('it is no standby');
      if (markOf(row.lsn) >= needed) return;
      if (monotonicMs() >= endsAt) throw new BehindError(`it has not replayed ${lsnOf(needed)}`);
      await sleep(POLL_MS);
    }
  }

  /** A process that has just started, for example a command, first reads both positions. */
  private async probeIfNew(): Promise<void> {
    if (this.floor === 0n) await this.probe().catch(() => undefined);
  }

  private async probe(): Promise<void> {
    this.currentProbe ??= this.readBothPositions().finally(() => (this.currentProbe = undefined));
    return this.currentProbe;
  }

  /** Reads both positions. Throws if the primary is unreachable, because the lag is unknown then. */
  private async readBothPositions(): Promise<void> {
    const { replica, primary } = this;
    if (replica === undefined) return;
    const [seen] = await primary.query<Written>(WRITTEN_BY);
    if (seen === undefined) return;
    const written = markOf(seen.lsn);
    this.lag.recordWritten(written, monotonicMs());
    replica.hosts.recordServer(seen.system, seen.timeline);
    if (this.floor === 0n) this.floor = written;
    try {
      if (!replica.source.isInitialized) await replica.source.initialize();
      const [row] = await replica.query<Replayed>(ASK_REPLAYED);
      if (row?.standby !== true || row.lsn === null) {
        // It was promoted. The next connection goes to another standby, if there is one.
        this.fault = 'it is no standby any more';
        replica.hosts.leaveServingHost();
        return;
      }
      this.lag.recordReplayed(markOf(row.lsn));
      this.fault = undefined;
    } catch (error) {
      this.fault = isNativeError(error) ? reasonOf(error) : String(error);
    }
  }
}
