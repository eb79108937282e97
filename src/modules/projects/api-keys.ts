/**
 * API keys of projects: creates, rotates, restricts and revokes them. A secret is shown once and sealed at rest. The
 * primary key's secret is made with its project (projects.ts); its other operations are here too.
 */
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { IsNull, type Repository } from 'typeorm';
import { Sealers } from '../../platform/support/sealers.js';
import { OperatorError } from '../../domain/operator-error.js';
import { KEYS_PER_DAY, type Scope } from '../../domain/scopes.js';
import type { Credits } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { SPENT_TODAY } from '../../platform/database/spent-today.js';
import { ApiKey } from '../../platform/database/entities/api-key.entity.js';
import { addCounts, reseal, secretsIn, type ResealCount } from '../../platform/database/resealing.js';
import { consoleKeyId } from './console-key-id.js';
import { keepPreviousSecret, lockProject, newApiKey, recordKeyEvent, requireRoomForKey } from './key-rows.js';

/** A key as an operator sees it, without its secret. */
export interface KeyView {
  readonly id: string;
  readonly project_id: string;
  readonly is_primary: boolean;
  readonly name: string;
  readonly scopes: Scope[];
  readonly allowed_sources: string[];
  readonly daily_cap_credits: Credits | null;
  /** Spent in the present UTC day. */
  readonly spent_credits: Credits;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  /** The time until which the secret before the last rotation still verifies; null if it does not. */
  readonly previous_until: Date | null;
  readonly revoked_at: Date | null;
}

/** Permissions of a key; absent members are not changed. */
export interface KeyOptions {
  readonly name?: string;
  readonly scopes?: readonly Scope[];
  /** Addresses and CIDR ranges that may call with it; empty means any. */
  readonly allowedSources?: readonly string[];
  /** Null means no cap. */
  readonly dailyCapCredits?: Credits | null;
}

export interface RecentSource {
  readonly key_id: string;
  readonly key_name: string;
  readonly address: string;
  /** ISO 8601 in UTC. */
  readonly at: string;
}

const VIEW = `SELECT id, project_id, id = project_id AS is_primary, name, scopes, allowed_sources, daily_cap_credits,
    ${SPENT_TODAY} AS spent_credits,
    created_at, last_used_at, CASE WHEN previous_until > clock_timestamp() THEN previous_until END AS previous_until, revoked_at
  FROM api_key`;

/** Counts the keys made in 24 hours, including those revoked since. */
const MADE_LATELY = `SELECT count(*)::int AS made FROM api_key
  WHERE project_id = $1 AND id <> project_id AND created_at > clock_timestamp() - interval '1 day'`;

const LOCK_UNREVOKED = `SELECT (SELECT p.test FROM project p WHERE p.id = k.project_id) FROM api_key k
  WHERE k.id = $1 AND k.revoked_at IS NULL FOR NO KEY UPDATE`;

@Injectable()
export class ApiKeys {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
  ) {}

  /** Returns the project's active keys, the primary first; with `isAll` also the revoked ones. */
  async list(projectId: string, isAll = false): Promise<KeyView[]> {
    return this.database.query<KeyView>(
      [VIEW, `WHERE project_id = $1 AND ($2 OR revoked_at IS NULL) ORDER BY id <> project_id, created_at, id`].join(
        ' ',
      ),
      [projectId, isAll],
    );
  }

  /** Returns recent source addresses of active keys, newest first, about twenty per key. */
  async recentSources(projectId: string): Promise<RecentSource[]> {
    return this.database.query<RecentSource>(
      `SELECT k.id AS key_id, k.name AS key_name, s.key AS address, s.value AS at
         FROM api_key k CROSS JOIN LATERAL jsonb_each_text(k.recent_sources) s
        WHERE k.project_id = $1 AND k.revoked_at IS NULL ORDER BY s.value DESC, s.key, k.id`,
      [projectId],
    );
  }

  /** Throws OperatorError if the key does not exist. */
  async get(id: string): Promise<KeyView> {
    const [found] = await this.database.query<KeyView>([VIEW, 'WHERE id = $1'].join(' '), [id]);
    if (found === undefined) throw noSuchKey(id);
    return found;
  }

  /**
   * Creates a key and returns its secret, this once. Throws OperatorError beyond ten active keys, and beyond the daily
   * limit.
   */
  async create(
    projectId: string,
    options: KeyOptions & { readonly name: string; readonly scopes: readonly Scope[] },
    act: Author,
  ): Promise<{ id: string; apiKey: string }> {
    const id = randomUUID();
    const seals = await this.sealers.sealing('api-key');
    const apiKey = await this.database.transaction(async (tx) => {
      const project = await lockProject(tx, projectId);
      await requireRoomForKey(tx, projectId, id);
      const [today] = await tx.query<{ made: number }>(MADE_LATELY, [projectId]);
      if (today === undefined || today.made >= KEYS_PER_DAY) throw tooManyMade();
      const made = newApiKey(project.test);
      await tx
        .repository(ApiKey)
        .insert({ id, projectId, sealed: seals.seal(Buffer.from(made), id), ...columnsOf(options) });
      await recordAct(tx, act, { action: 'key.create', subject: projectId, detail: { key: id, ...options } });
      await recordKeyEvent(tx, id, 'created');
      return made;
    });
    return { id, apiKey };
  }

  /**
   * Replaces the secret of a key other than the primary. The previous one also verifies for `overlapSec` more. Throws
   * OperatorError for an overlap while an earlier one runs.
   */
  async rotate(id: string, overlapSec: number, act: Author): Promise<string> {
    const { project_id: projectId, is_primary: isPrimary } = await this.get(id);
    if (isPrimary) throw new OperatorError('This is the primary key. `project rotate-key` creates a new one.', 2);
    refuseConsoleKey(id, projectId);
    const seals = await this.sealers.sealing('api-key');
    return this.database.transaction(async (tx) => {
      // Locks the row, so that a concurrent revocation is not undone.
      const [key] = await tx.query<{ test: boolean }>(LOCK_UNREVOKED, [id]);
      if (key === undefined)
        throw new OperatorError('This key is permanently revoked. `keys create` creates another one.', 1);
      const apiKey = newApiKey(key.test);
      await keepPreviousSecret(tx, id, overlapSec);
      await change(tx, id, { sealed: seals.seal(Buffer.from(apiKey), id) });
      await recordAct(tx, act, { action: 'key.rotate', subject: projectId, detail: { key: id, overlapSec } });
      await recordKeyEvent(tx, id, 'rotated');
      return apiKey;
    });
  }

  /** Revokes a key: neither its secret nor the previous one verifies from now on. A revoked key is not changed. */
  async revoke(id: string, act: Author): Promise<void> {
    const { project_id: projectId } = await this.get(id);
    await this.database.transaction(async (tx) => {
      const { affected } = await tx
        .repository(ApiKey)
        .update(
          { id, revokedAt: IsNull() },
          { revokedAt: () => 'clock_timestamp()', previousSealed: null, previousUntil: null },
        );
      if (affected === 0) return;
      await recordAct(tx, act, { action: 'key.revoke', subject: projectId, detail: { key: id } });
      await recordKeyEvent(tx, id, 'revoked');
    });
  }

  async setOptions(id: string, options: KeyOptions, act: Author): Promise<void> {
    const { project_id: projectId, is_primary: isPrimary } = await this.get(id);
    if (isPrimary && options.scopes !== undefined) throw new OperatorError('The primary key has all scopes.', 2);
    refuseConsoleKey(id, projectId);
    await this.database.transaction(async (tx) => {
      await change(tx, id, columnsOf(options));
      await recordAct(tx, act, { action: 'key.options', subject: projectId, detail: { key: id, ...options } });
    });
  }

  /** Reseals every key except the primaries, and the previous secrets of all. Only counts them unless `isReplacing`. */
  async resealKeys(isReplacing: boolean): Promise<ResealCount> {
    const present = secretsIn(this.database, 'api_key', 'sealed', 'id <> project_id');
    const previous = secretsIn(this.database, 'api_key', 'previous_sealed');
    return addCounts([
      await reseal(present, this.sealers.apiKey, isReplacing),
      await reseal(previous, this.sealers.apiKey, isReplacing),
    ]);
  }
}

type Changes = Parameters<Repository<ApiKey>['update']>[1];

async function change(tx: Transaction, id: string, changes: Changes): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  const { affected } = await tx.repository(ApiKey).update({ id }, changes);
  if (affected !== 1) throw noSuchKey(id);
}

function columnsOf<T extends KeyOptions>({ scopes, allowedSources, ...rest }: T) {
  return {
    ...rest,
    ...(scopes !== undefined && { scopes: [...scopes] }),
    ...(allowedSources !== undefined && { allowedSources: [...allowedSources] }),
  };
}

/** Throws for the key that pays for purchases in the console: its secret would let programs spend under that cap. */
function refuseConsoleKey(id: string, projectId: string): void {
  if (id !== consoleKeyId(projectId)) return;
  throw new OperatorError(
    'This key pays for purchases in the console and signs nothing. An owner sets its cap in the settings of the project; revoking it ends such purchases.',
    2,
  );
}

function tooManyMade(): OperatorError {
  const words = `A project can create at most ${KEYS_PER_DAY.toString()} API keys in 24 hours. Rotate one, or wait.`;
  return new OperatorError(words, 1, 'LIMIT_REACHED');
}

function noSuchKey(id: string): OperatorError {
  return new OperatorError(`There is no API key ${id}. \`keys list <merchant>\` shows the keys.`, 1, 'NOT_FOUND');
}
