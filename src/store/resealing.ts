/** Reseals secrets while the service runs. Plain text exists only in memory. */
import type { Sealer } from '../base/seal.js';

export interface SealedSecret<Id> {
  readonly id: Id;
  /** The context of the seal: the project's id, the wallet's address. */
  readonly context: string;
  readonly sealed: Buffer;
}

/** Storage of one kind of secrets. */
export interface SecretStore<Id> {
  /** At most RESEAL_BATCH of them by id, after the one named. */
  next(after: Id | undefined): Promise<readonly SealedSecret<Id>[]>;
  /** Replaces the secret by `sealed`. Returns false if another process changed it meanwhile. */
  replace(secret: SealedSecret<Id>, sealed: Buffer): Promise<boolean>;
}

export interface ResealCount {
  /** Resealed by this run. */
  readonly rewrapped: number;
  /** Under the newest key already. */
  readonly current: number;
  /** Open under no key that is held; named by context. */
  readonly failed: readonly string[];
}

export function addCounts(counts: readonly ResealCount[]): ResealCount {
  return {
    rewrapped: counts.reduce((sum, { rewrapped }) => sum + rewrapped, 0),
    current: counts.reduce((sum, { current }) => sum + current, 0),
    failed: counts.flatMap(({ failed }) => failed),
  };
}

/** Of one kind of secrets. */
export interface KindCount extends ResealCount {
  readonly what: 'api keys' | 'pool keys' | 'webhook secrets' | 'second factors' | 'canaries';
}

/** Small enough that no batch holds a connection for long. */
export const RESEAL_BATCH = 100;

/** Seals every secret of the store under the newest key of `sealer`; unless it `isReplacing`, only counts them. */
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
      // The process that changed it meanwhile sealed it under the newest key, and another run of this counted it.
      else if (!isReplacing || (await store.replace(secret, sealer.seal(plain, secret.context)))) rewrapped += 1;
      else current += 1;
      plain?.fill(0);
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < RESEAL_BATCH) return { rewrapped, current, failed };
    after = last.id;
  }
}
