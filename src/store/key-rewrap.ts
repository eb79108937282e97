/**
 * Seals every secret anew under MASTER_KEY, while the service runs: each is opened under whichever of the two keys it
 * lies under, and replaced only if nobody replaced it meanwhile. Nothing is decrypted to anywhere but memory.
 */
import { Injectable } from '@nestjs/common';
import { Sealers } from '../base/sealers.js';
import type { Sealer } from '../base/seal.js';
import { recordAct, type Author } from './audit-log.js';
import { Database, type Statement } from './database.js';
import { opensCanary, sealCanary } from './key-canaries.js';

export interface RewrapCount {
  readonly what: 'api keys' | 'pool keys' | 'canaries';
  /** Sealed anew by this run. */
  readonly rewrapped: number;
  /** Under MASTER_KEY already. */
  readonly current: number;
  /** Open under neither key; named by project or wallet. */
  readonly failed: readonly string[];
}

/** Small enough that no batch holds a connection for long. */
const BATCH = 100;

interface Secret {
  readonly place: string;
  /** What the seal is bound to: the project's id, the wallet's address. */
  readonly context: string;
  readonly sealed: Buffer;
}

interface Store {
  readonly what: RewrapCount['what'];
  readonly next: Statement;
  readonly replace: Statement;
  readonly first: string;
}

const API_KEYS: Store = {
  what: 'api keys',
  next: {
    text: `SELECT id::text AS place, id::text AS context, api_key_sealed AS sealed FROM project
            WHERE id > $1::uuid ORDER BY id LIMIT $2`,
  },
  replace: { text: `UPDATE project SET api_key_sealed = $3 WHERE id = $1::uuid AND api_key_sealed = $2 RETURNING id` },
  first: '00000000-0000-0000-0000-000000000000',
};

const POOL_KEYS: Store = {
  what: 'pool keys',
  next: {
    text: `SELECT id::text AS place, address AS context, key_sealed AS sealed FROM pool_wallet
            WHERE id > $1::integer AND key_sealed IS NOT NULL ORDER BY id LIMIT $2`,
  },
  replace: { text: `UPDATE pool_wallet SET key_sealed = $3 WHERE id = $1::integer AND key_sealed = $2 RETURNING id` },
  first: '0',
};

@Injectable()
export class KeyRewrap {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
  ) {}

  async run(act: Author): Promise<RewrapCount[]> {
    const counts = [
      await this.rewrap(API_KEYS, this.sealers.apiKey, true),
      await this.rewrap(POOL_KEYS, this.sealers.poolKey, true),
      await this.rewrapCanaries(true),
    ];
    const detail = Object.fromEntries(
      counts.map(({ what, rewrapped, current, failed }) => [what, { rewrapped, current, failed }]),
    );
    await this.database.transaction((tx) => recordAct(tx, act, 'keys.rewrap', 'MASTER_KEY', detail));
    return counts;
  }

  /** What a run would find; changes nothing. */
  async look(): Promise<RewrapCount[]> {
    return [
      await this.rewrap(API_KEYS, this.sealers.apiKey, false),
      await this.rewrap(POOL_KEYS, this.sealers.poolKey, false),
      await this.rewrapCanaries(false),
    ];
  }

  private async rewrap(store: Store, sealer: Sealer, isReplacing: boolean): Promise<RewrapCount> {
    let rewrapped = 0;
    let current = 0;
    const failed: string[] = [];
    for (let after = store.first; ;) {
      const batch = await this.database.query<Secret>(store.next, [after, BATCH]);
      for (const secret of batch) {
        const plain = sealer.open(secret.sealed, secret.context);
        if (plain === undefined) failed.push(secret.context);
        else if (sealer.isCurrent(secret.sealed)) current += 1;
        else if (!isReplacing || (await this.replace(store, secret, sealer.seal(plain, secret.context)))) {
          rewrapped += 1;
        } else current += 1;
        plain?.fill(0);
      }
      const last = batch.at(-1);
      if (last === undefined || batch.length < BATCH) break;
      after = last.place;
    }
    return { what: store.what, rewrapped, current, failed };
  }

  /** A process that holds the older key alone refuses to start from then on. */
  private async rewrapCanaries(isReplacing: boolean): Promise<RewrapCount> {
    let rewrapped = 0;
    let current = 0;
    const failed: string[] = [];
    const rows = await this.database.query<{ purpose: string; sealed: Buffer }>(
      `SELECT purpose, sealed FROM key_canary ORDER BY purpose`,
    );
    for (const [purpose, sealer] of this.sealers.held) {
      const sealed = rows.find((row) => row.purpose === purpose)?.sealed;
      if (sealed === undefined) continue;
      if (!opensCanary(purpose, sealer, sealed)) failed.push(purpose);
      else if (sealer.isCurrent(sealed)) current += 1;
      else if (!isReplacing || (await this.replaceCanary(purpose, sealed, sealCanary(purpose, sealer)))) rewrapped += 1;
      else current += 1;
    }
    return { what: 'canaries', rewrapped, current, failed };
  }

  private async replaceCanary(purpose: string, old: Buffer, sealed: Buffer): Promise<boolean> {
    const text = `UPDATE key_canary SET sealed = $3, sealed_at = clock_timestamp()
                   WHERE purpose = $1 AND sealed = $2 RETURNING purpose`;
    return (await this.database.query(text, [purpose, old, sealed])).length === 1;
  }

  /**
   * False when somebody changed the secret meanwhile: it lies under the newest key then, which is as good, and another
   * run of this counted it.
   */
  private async replace(store: Store, secret: Secret, sealed: Buffer): Promise<boolean> {
    return (await this.database.query(store.replace, [secret.place, secret.sealed, sealed])).length === 1;
  }
}
