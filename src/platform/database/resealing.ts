/** Reseals secrets while the service runs. Plain text exists only in memory. */
import type { Sealer } from '../support/seal.js';
import type { Queryable } from './database.js';

export interface SealedSecret<Id> {
  readonly id: Id;
  /** The context of the seal: the project's id, the wallet's address. */
  readonly context: string;
  readonly sealed: Buffer;
}

/** Storage of one kind of secrets. */
export interface SecretStore<Id> {
  /** Returns at most RESEAL_BATCH secrets in the order of their ids, starting behind `after`. */
  next(after: Id | undefined): Promise<readonly SealedSecret<Id>[]>;
  /** Replaces the secret by `sealed`. Returns false if another process changed it meanwhile. */
  replace(secret: SealedSecret<Id>, sealed: Buffer): Promise<boolean>;
}

export interface ResealCount {
  /** The secrets that this run resealed, or would reseal. */
  readonly rewrapped: number;
  /** The secrets that are sealed under the newest key already. */
  readonly current: number;
  /** The contexts of secrets that none of the held keys opens. */
  readonly failed: readonly string[];
}

export function addCounts(counts: readonly ResealCount[]): ResealCount {
  return {
    rewrapped: counts.reduce((sum, { rewrapped }) => sum + rewrapped, 0),
    current: counts.reduce((sum, { current }) => sum + current, 0),
    failed: counts.flatMap(({ failed }) => failed),
  };
}

/** The counts for one kind of secret. */
export interface KindCount extends ResealCount {
  readonly what: 'api keys' | 'pool keys' | 'webhook secrets' | 'second factors' | 'canaries';
}

/** Small enough that no batch holds a connection for long. */
export const RESEAL_BATCH = 100;

/**
 * Returns the store of the secrets in one column. The table's id must be a uuid, and the context of each seal.
 * `CONDITION`: SQL for the rows to include.
 */
export function secretsIn(database: Queryable, TABLE: string, COLUMN: string, CONDITION = 'true'): SecretStore<string> {
  const next = `SELECT id, id AS context, ${COLUMN} AS sealed FROM ${TABLE}
    WHERE ${COLUMN} IS NOT NULL AND ${CONDITION} AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT $2`;
  const replace = `UPDATE ${TABLE} SET ${COLUMN} = $3 WHERE id = $1 AND ${COLUMN} = $2 RETURNING id`;
  return {
    next: async (after) => database.query<SealedSecret<string>>(next, [after ?? null, RESEAL_BATCH]),
    replace: async ({ id, sealed: old }, sealed) => (await database.query(replace, [id, old, sealed])).length === 1,
  };
}

/** Seals every secret of the store under the newest key of `sealer`. Unless `isReplacing`, only counts. */
export async function reseal<Id>(store: SecretStore<Id>, sealer: Sealer, isReplacing: boolean): Promise<ResealCount> {
  let rewrapped = 0;
  let current = 0;
  const failed: string[] = [];
  for (let after: Id | undefined; ;) {
    const batch = await store.next(after);
    for (const secret of batch) {
      const plain = sealer.open(secret.sealed, secret.context);
      if (plain === undefined) failed.push(secret.context);
      else if (sealer.isCurrent(secret.sealed)) current += 1;
      // A secret that another process changed meanwhile is sealed under the newest key, so it counts as current.
      else if (!isReplacing || (await store.replace(secret, sealer.seal(plain, secret.context)))) rewrapped += 1;
      else current += 1;
      plain?.fill(0);
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < RESEAL_BATCH) return { rewrapped, current, failed };
    after = last.id;
  }
}
