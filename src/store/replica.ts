/**
 * Reads that may be a moment old, from the standby of DATABASE_READ_URL: later pages, reports, exports. Whoever was shown
 * something is asked for nothing older, since a read names how much the server must have (read-mark.ts); where it has not,
 * is away or lags, the primary answers. Owns what this process knows of the replica. Decides no money, and writes nothing.
 */
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { isNativeError } from 'node:util/types';
import type pg from 'pg';
import { monotonicMs, sleep } from '../base/clock.js';
import { Repeater } from '../base/repeat.js';
import { reasonOf } from '../domain/errors.js';
import { waysOf } from './data-source.js';
import { Database, isDatabaseAway, isRetryable, sqlStateOf, type Transaction } from './database.js';
import { Lag } from './replica-lag.js';
import { cursorParts, lsnOf, markedCursor, markOf, type ReadMark } from './read-mark.js';

/** How often it is asked how far it has come. */
const LOOK_MS = 2000;
const READ_ONLY = '25006';
/** How often a read that waits for the replica looks again. */
const POLL_MS = 25;
/** How long the replica has to come as far as the primary is. */
const READ_WAIT_MS = 250;
const TRANSACTION_WAIT_MS = 2000;
/** After which a replica that says nothing is taken to be away. */
const ANSWER_LIMIT_MS = 2000;

/** What the primary has written: a commit shows only once its record lies before this. */
const WRITTEN = `SELECT pg_current_wal_insert_lsn()::text AS lsn`;
/** The same, with which cluster's and timeline's it is. */
export const WRITTEN_BY = `${WRITTEN}, (SELECT system_identifier::text FROM pg_control_system()) AS system,
  ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int AS timeline`;
/** A position counts as replayed only after what it holds shows to reads that begin then. */
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

/** Why the primary answered what the replica could have. */
export const PRIMARY_REASONS = ['away', 'lags', 'behind', 'fault'] as const;
export type PrimaryReason = (typeof PRIMARY_REASONS)[number];

/** Statements, and repositories, of whichever server answers. They must read alone. */
export type Reader = Transaction;

/** What a page must have for its cursor to be marked. */
interface Page {
  readonly nextCursor: string | undefined;
}

/** The replica has not come as far as this read needs, or is no standby any more. */
class BehindError extends Error {
  override readonly name = 'BehindError';
}

@Injectable()
export class Replica implements OnApplicationBootstrap, OnApplicationShutdown {
  /** Called for each read that named what it needs: where it was answered, and by the primary why. For counting only. */
  onRead: ((answeredBy: 'replica' | PrimaryReason) => void) | undefined;

  private readonly replica: Database | undefined;
  private readonly lag: Lag;
  /** What this process has seen of the primary at its start, its schema above all. */
  private floor: ReadMark = 0n;
  /** Why it is not asked; undefined while it is. */
  private fault: string | undefined = 'it has not been asked yet';
  private lookUnderWay: Promise<void> | undefined;
  private readonly looking = new Repeater({
    run: async () => {
      await this.look();
      return LOOK_MS;
    },
    retryMs: LOOK_MS,
    onFailure: (error) => {
      this.fault = `the primary does not say how far it is (${reasonOf(error)})`;
    },
  });

  constructor(private readonly primary: Database) {
    const { replica, lagMaxMs } = waysOf(primary.source);
    this.replica = replica && primary.beside(replica);
    this.lag = new Lag(lagMaxMs);
  }

  /** Whether there is one to ask. */
  get isConfigured(): boolean {
    return this.replica !== undefined;
  }

  /** The names of its hosts. */
  get hosts(): readonly string[] {
    return this.replica?.hosts.all.map(({ name }) => name) ?? [];
  }

  /** Which of its hosts serves, and why none does. */
  get state(): { readonly serving: string | undefined; readonly fault: string | undefined; readonly lagMs: number } {
    return { serving: this.replica?.hosts.serving, fault: this.reasonNot()?.text, lagMs: this.lag.ms(monotonicMs()) };
  }

  onApplicationBootstrap(): void {
    if (this.isConfigured) void this.looking.start();
  }

  async onApplicationShutdown(): Promise<void> {
    const { replica } = this;
    if (replica === undefined) return;
    await this.looking.stop();
    await replica.hosts.stop();
    if (replica.source.isInitialized) await replica.source.destroy();
  }

  /** How much there is now, for later reads; undefined when they would go to the primary anyhow. */
  async mark(): Promise<ReadMark | undefined> {
    if (!this.isConfigured) return undefined;
    await this.looked();
    if (this.reasonNot() !== undefined) return undefined;
    try {
      const [row] = await this.primary.query<{ lsn: string }>(WRITTEN);
      return row && markOf(row.lsn);
    } catch (error) {
      // What was read before stands, whether or not the next read can be a replica's.
      if (isDatabaseAway(error)) return undefined;
      throw error;
    }
  }

  /** By the replica, if it has all up to `mark`; otherwise, and without a mark, by the primary. */
  async read<T>(mark: ReadMark | undefined, work: (on: Reader) => Promise<T>): Promise<T> {
    const read = await this.attempt(mark, work, 0);
    return read === undefined ? work(this.onPrimary) : read.value;
  }

  /** Of all there is now: the replica has a moment to come so far. */
  async readNow<T>(work: (on: Reader) => Promise<T>): Promise<T> {
    const read = await this.attempt(await this.mark(), work, READ_WAIT_MS);
    return read === undefined ? work(this.onPrimary) : read.value;
  }

  /** The same in one transaction, whose isolation `work` may set first. */
  async transaction<T>(work: (on: Transaction) => Promise<T>): Promise<T> {
    const read = await this.attempt(await this.mark(), work, TRANSACTION_WAIT_MS);
    return read === undefined ? this.primary.transaction(work) : read.value;
  }

  /**
   * A page of a list: the first by the primary, so that whoever has written sees it, later ones by the replica where it has all
   * that was there with the first one. `cursor` is taken and given with that mark.
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

  /** Undefined when the primary is to answer. Throws what `work` throws but for faults of the server. */
  private async attempt<T>(
    mark: ReadMark | undefined,
    work: (on: Transaction) => Promise<T>,
    waitMs: number,
  ): Promise<{ readonly value: T } | undefined> {
    const { replica } = this;
    if (replica === undefined || mark === undefined) return undefined;
    await this.looked();
    const reason = this.reasonNot()?.reason;
    if (reason !== undefined) {
      this.declined(reason);
      return undefined;
    }
    const needed = mark > this.floor ? mark : this.floor;
    try {
      const value = await replica.transaction(work, async (client) => this.untilReplayed(client, needed, waitMs));
      this.onRead?.('replica');
      return { value };
    } catch (error) {
      if (error instanceof BehindError) {
        this.declined('behind');
        return undefined;
      }
      // A standby ends reads that stand in the way of what it has to replay.
      if (isRetryable(error)) {
        this.declined('fault');
        return undefined;
      }
      // Whoever writes here is wrong: the primary would take it.
      if (sqlStateOf(error) === READ_ONLY || !isDatabaseAway(error)) throw error;
      this.fault = reasonOf(error);
      this.declined('away');
      return undefined;
    }
  }

  private declined(reason: PrimaryReason): void {
    this.onRead?.(reason);
  }

  private reasonNot(): { readonly reason: 'away' | 'lags'; readonly text: string } | undefined {
    if (this.fault !== undefined) return { reason: 'away', text: this.fault };
    const lagMs = this.lag.ms(monotonicMs());
    if (!this.lag.isTooGreat(monotonicMs())) return undefined;
    return { reason: 'lags', text: `it lags by ${(lagMs / 1000).toFixed(0)} s` };
  }

  private async untilReplayed(client: pg.ClientBase, needed: ReadMark, waitMs: number): Promise<void> {
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

  /** A process that has only just begun, as a command, looks first. */
  private async looked(): Promise<void> {
    if (this.floor === 0n) await this.look().catch(() => undefined);
  }

  private async look(): Promise<void> {
    this.lookUnderWay ??= this.lookAtBoth().finally(() => (this.lookUnderWay = undefined));
    return this.lookUnderWay;
  }

  /** Asks both how far they are. Throws while the primary is away: nothing is known of the lag then. */
  private async lookAtBoth(): Promise<void> {
    const { replica, primary } = this;
    if (replica === undefined) return;
    const [seen] = await primary.query<Written>(WRITTEN_BY);
    if (seen === undefined) return;
    const written = markOf(seen.lsn);
    this.lag.wrote(written, monotonicMs());
    replica.hosts.know(seen.system, seen.timeline);
    if (this.floor === 0n) this.floor = written;
    try {
      if (!replica.source.isInitialized) await replica.source.initialize();
      const [row] = await replica.query<Replayed>(ASK_REPLAYED);
      if (row?.standby !== true || row.lsn === null) {
        // Promoted since: a new connection is made to another one, if there is one.
        this.fault = 'it is no standby any more';
        replica.hosts.leave();
        return;
      }
      this.lag.replayed(markOf(row.lsn));
      this.fault = undefined;
    } catch (error) {
      this.fault = isNativeError(error) ? reasonOf(error) : String(error);
    }
  }
}
