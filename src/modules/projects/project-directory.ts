/**
 * Finds projects in a cache that is at most 30 s old (docs/interface.md §2); a change invalidates its entry
 * immediately. An unknown project is cached, read and answered exactly like a known one. Opened API keys exist only
 * here.
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import type { ProjectRecord } from '../../platform/http/pipeline/request-context.js';
import { Log } from '../../platform/observability/logger.js';
import { AddressList } from '../../platform/http/pipeline/source-address.js';
import { KEYS_MAX, type Scope } from '../../domain/scopes.js';
import { Sealers } from '../../platform/support/sealers.js';
import { Database } from '../../platform/database/database.js';
import { ProjectFeed, type KeyRow, type ProjectRow } from './project-feed.js';

/**
 * Entries per process and kind (known, unknown). The oldest one is evicted; a flood of unknown ids evicts no project.
 */
const ENTRIES_MAX = 10_000;
/** Ids of projects, 36 characters each. */
const KNOWN_IDS_MAX = 100_000;
/** Limits of reads caused by unauthenticated callers: per project, and per process and kind of id. */
const PROJECT_REREADS_PER_SEC = 10;
const READS_PER_SEC = 100;

/** An API key with its permissions. */
export interface KnownKey {
  readonly id: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Undefined means that any source may call with it. */
  readonly sources: AddressList | undefined;
}

/** A secret that signatures are checked with, in the form that each scheme needs. */
export interface Secret {
  readonly text: string;
  readonly hmac: KeyObject;
  /** The key that has this secret; undefined for a dummy secret. */
  readonly key: KnownKey | undefined;
  /** By this process's monotonic clock. */
  readonly expiresMs: number;
}

export interface KnownProject {
  readonly record: ProjectRecord;
  /** Undefined means that any source may call. */
  readonly sources: AddressList | undefined;
}

/** The cached state of one id; `project` is undefined for an id without a project. */
export interface Entry {
  readonly id: string;
  readonly project: KnownProject | undefined;
  /** Has a fixed length for every project, padded with dummy secrets. The one that matched last is first. */
  readonly secrets: Secret[];
  /** The primary key's secret and its previous one; only these verify MD5. */
  readonly primary: readonly Secret[];
  readonly readMs: number;
  /** Budget of re-reads after a failed verification; entries that replace each other share it. */
  readonly rereads: ReadBudget;
}

@Injectable()
export class ProjectDirectory implements OnModuleInit, OnApplicationShutdown {
  private readonly known = new Map<string, Entry>();
  private readonly unknown = new Map<string, Entry>();
  private readonly loads = new Map<string, Promise<Entry>>();
  private readonly feed: ProjectFeed;
  private readonly maxAgeMs: number;
  /** Opened in place of a missing key, so that both cases do the same work. */
  private readonly sealedDummy: Buffer;
  /** Ids of projects, longest known first; they outlive their cached entries. */
  private readonly knownIds = new Set<string>();
  /** Counts announcements: a read that started before one is not cached. */
  private changes = 0;
  private readonly listeners: ((projectId: string | undefined) => void)[] = [];
  /** Separate budgets, so that made-up ids take no reads from existing projects. */
  private readonly reads = { known: new ReadBudget(READS_PER_SEC), unknown: new ReadBudget(READS_PER_SEC) };

  constructor(
    config: Config,
    database: Database,
    private readonly sealers: Sealers,
    private readonly log: Log,
  ) {
    this.maxAgeMs = config.http.projectCacheSec * 1000;
    this.sealedDummy = sealers.apiKey.seal(Buffer.from(DUMMY_KEY), DUMMY_ID);
    this.feed = new ProjectFeed(
      database.direct,
      {
        onChange: (projectId) => this.drop(projectId),
        onGap: () => this.dropAll(),
        onIds: (projectIds) => projectIds.forEach((id) => this.noteKnown(id)),
      },
      log,
    );
  }

  async onModuleInit(): Promise<void> {
    await this.feed.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.feed.stop();
    this.dropAll();
  }

  /** Calls `listener` with each changed project, or with undefined if any of them may have changed. */
  onChange(listener: (projectId: string | undefined) => void): void {
    this.listeners.push(listener);
  }

  /** Returns the cached entry if it is fresh enough, without I/O. */
  cached(id: string, ageMs = this.maxAgeMs): Entry | undefined {
    const entry = this.known.get(id) ?? this.unknown.get(id);
    return entry !== undefined && monotonicMs() - entry.readMs < Math.min(ageMs, this.maxAgeMs) ? entry : undefined;
  }

  /** Reads the entry, once for all concurrent callers. Throws 503 AUTH_UNAVAILABLE. */
  async load(id: string): Promise<Entry> {
    return this.loads.get(id) ?? this.startLoad(id, new ReadBudget(PROJECT_REREADS_PER_SEC));
  }

  /**
   * Re-reads the entry after a failed verification, because a key may be newer than even a recent read. Returns
   * undefined if this entry, or its kind, has used up its reads of this second.
   *
   * Throws 503 AUTH_UNAVAILABLE while the database is unavailable, regardless of the budget. An unknown project, which
   * cannot be read then either, must look the same.
   */
  async reread(entry: Entry): Promise<Entry | undefined> {
    if (!this.feed.isConnected) throw unavailable();
    const running = this.loads.get(entry.id);
    if (running !== undefined) return running;
    const budget = this.knownIds.has(entry.id) ? this.reads.known : this.reads.unknown;
    return entry.rereads.take() && budget.take() ? this.startLoad(entry.id, entry.rereads) : undefined;
  }

  /** Returns true if this id is known to be a project's; no I/O. */
  isKnown(id: string): boolean {
    return this.knownIds.has(id);
  }

  /**
   * Returns true if reading this id is within the budget of unauthenticated callers. A known project's id is exempt: it
   * is read at most once per cache lifetime.
   */
  mayLoad(id: string): boolean {
    return this.knownIds.has(id) || this.reads.unknown.take();
  }

  private startLoad(id: string, rereads: ReadBudget): Promise<Entry> {
    const load = this.read(id, rereads).finally(() => {
      // A change may have started a newer read in the meantime.
      if (this.loads.get(id) === load) this.loads.delete(id);
    });
    this.loads.set(id, load);
    return load;
  }

  private async read(id: string, rereads: ReadBudget): Promise<Entry> {
    const changes = this.changes;
    // The age counts from before the read, because the row may change right after it.
    const readMs = monotonicMs();
    let row: ProjectRow | undefined;
    try {
      row = await this.feed.read(id, this.knownIds.has(id) ? 'known' : 'unknown');
    } catch (cause) {
      throw unavailable(cause);
    }
    const entry = { id, ...this.open(row, readMs), readMs, rereads };
    if (changes === this.changes) this.keep(entry);
    return entry;
  }

  private open(row: ProjectRow | undefined, readMs: number): Pick<Entry, 'project' | 'secrets' | 'primary'> {
    const keys = row?.keys ?? [];
    // Two places for each key that a project can have, so that every project, known or not, has as many secrets opened.
    const secrets = Array.from({ length: KEYS_MAX }, (_, index) => {
      const found = keys[index];
      const key = found === undefined ? undefined : this.knownKey(found);
      const previousMs = found?.previous_ms ?? Number.NEGATIVE_INFINITY;
      return [
        this.secretOf(found?.sealed, key, Number.POSITIVE_INFINITY),
        this.secretOf(found?.previous, key, readMs + previousMs),
      ];
    }).flat();
    if (row === undefined) return { project: undefined, secrets, primary: secrets.slice(0, 2) };
    return {
      project: { record: recordOf(row), sources: this.sourcesOf(row.id, row.allowed_sources) },
      secrets,
      primary: keys[0]?.id === row.id ? secrets.slice(0, 2) : [dummySecrets.next().value, dummySecrets.next().value],
    };
  }

  private knownKey({ id, scopes, sources }: KeyRow): KnownKey {
    return { id, scopes: new Set(scopes), sources: this.sourcesOf(id, sources) };
  }

  /** Opens a secret, or does the same work for a dummy secret. */
  private secretOf(sealed: string | null | undefined, key: KnownKey | undefined, expiresMs: number): Secret {
    if (typeof sealed !== 'string' || key === undefined) {
      this.sealers.apiKey.open(this.sealedDummy, DUMMY_ID);
      return dummySecrets.next().value;
    }
    const opened = this.sealers.apiKey.open(Buffer.from(sealed, 'hex'), key.id);
    if (opened === undefined) {
      this.log.error({ keyId: key.id }, 'failed to decrypt an API key with the master key');
      throw unavailable();
    }
    return secretFor(opened.toString('utf8'), key, expiresMs);
  }

  /** `id` is that of the project or the key to which the list belongs. */
  private sourcesOf(id: string, sources: readonly string[]): AddressList | undefined {
    if (sources.length === 0) return undefined;
    try {
      return new AddressList(sources);
    } catch (error) {
      // Fails closed: an unreadable list admits no source.
      this.log.error({ id, err: error }, 'failed to read the allowed sources of a project');
      return new AddressList([]);
    }
  }

  private keep(entry: Entry): void {
    this.known.delete(entry.id);
    this.unknown.delete(entry.id);
    const entries = entry.project === undefined ? this.unknown : this.known;
    // Insertion order is read order, so the first entry is the oldest.
    if (entry.project !== undefined) this.noteKnown(entry.id);
    if (entries.size >= ENTRIES_MAX) entries.delete(entries.keys().next().value ?? '');
    entries.set(entry.id, entry);
  }

  private noteKnown(id: string): void {
    this.knownIds.delete(id);
    if (this.knownIds.size >= KNOWN_IDS_MAX) this.knownIds.delete(this.knownIds.values().next().value ?? '');
    this.knownIds.add(id);
  }

  private drop(projectId: string): void {
    this.changes += 1;
    this.noteKnown(projectId);
    // Later callers must not receive a read that started before the change.
    this.loads.delete(projectId);
    this.known.delete(projectId);
    this.unknown.delete(projectId);
    for (const listener of this.listeners) listener(projectId);
  }

  private dropAll(): void {
    this.changes += 1;
    this.loads.clear();
    this.known.clear();
    this.unknown.clear();
    for (const listener of this.listeners) listener(undefined);
  }
}

/** Allows a number of reads per second, counted from the first read of that second. */
class ReadBudget {
  private sinceMs = Number.NEGATIVE_INFINITY;
  private count = 0;

  constructor(private readonly perSec: number) {}

  take(): boolean {
    const now = monotonicMs();
    if (now - this.sinceMs >= 1000) {
      this.sinceMs = now;
      this.count = 0;
    }
    this.count += 1;
    return this.count <= this.perSec;
  }
}

const DUMMY_ID = '00000000-0000-0000-0000-000000000000';
/** Signatures of unknown projects are checked against this, and always rejected. It has the length of real keys. */
export const DUMMY_KEY = randomBytes(24).toString('hex');
/**
 * Enough copies that dummy secrets are as rarely in the CPU cache as real ones; a single one would be checked faster.
 */
const DUMMY_SECRETS = Array.from({ length: 1000 }, () => secretFor(DUMMY_KEY, undefined, Number.POSITIVE_INFINITY));
const dummySecrets = inTurns(DUMMY_SECRETS);

function* inTurns<T>(each: readonly T[]): Generator<T, never> {
  for (;;) yield* each;
}

function secretFor(text: string, key: KnownKey | undefined, expiresMs: number): Secret {
  return { text, hmac: createSecretKey(text, 'utf8'), key, expiresMs };
}

function unavailable(cause?: unknown): ApiError {
  return new ApiError('AUTH_UNAVAILABLE', 'The request cannot be verified at present. Try again shortly.', {
    retryAfterSec: 1,
    ...(cause !== undefined && { cause }),
  });
}

function recordOf(row: ProjectRow): ProjectRecord {
  return {
    id: row.id,
    isFrozen: row.frozen,
    isTest: row.test,
    signatureSchemes: row.signature_schemes,
    requireIdempotencyKey: row.require_idempotency_key,
    requireQuote: row.require_quote,
    allowedSources: row.allowed_sources,
  };
}
