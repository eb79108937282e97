/** The statements on rows of projects and API keys that projects.ts, api-keys.ts and console-keys.ts share. */
import { randomBytes } from 'node:crypto';
import { IsNull, Not } from 'typeorm';
import { OperatorError } from '../../domain/operator-error.js';
import { KEYS_MAX } from '../../domain/scopes.js';
import { timeText } from '../../domain/text.js';
import type { Queryable, Transaction } from '../../platform/database/database.js';
import { ApiKey } from '../../platform/database/entities/api-key.entity.js';

/** 192 random bits. The interface requires at least 128, since an MD5 signature permits an offline search. */
const API_KEY_BYTES = 24;

/** Prefix of test projects' keys. Other keys are hex digits and never start with it. */
const TEST_PREFIX = 'test_';

const LOCK_PROJECT = `SELECT name, test FROM project WHERE id = $1 FOR NO KEY UPDATE`;

/**
 * Makes the present secret the previous one for as long as both verify. A trigger stores it
 * (sql/functions/keep_previous_key.sql), so that a rotation needs no read access to it.
 */
const KEEP_PREVIOUS = `UPDATE api_key
    SET previous_until = CASE WHEN $2 > 0 AND revoked_at IS NULL THEN clock_timestamp() + make_interval(secs => $2) END,
        revoked_at = NULL
  WHERE id = $1`;

/** End of an overlap that runs. A revocation ends it. */
const RUNNING_OVERLAP = `SELECT previous_until AS until FROM api_key WHERE id = $1 AND previous_until > clock_timestamp()`;

/** Writes a key's event into its project's log, with the key's present state and without its secrets. */
const INSERT_EVENT = `INSERT INTO event (project_id, type, snapshot)
  SELECT project_id, $2, json_build_object('key', json_build_object('id', id, 'name', name, 'is_primary', id = project_id,
           'scopes', scopes, 'previous_until', previous_until)) FROM api_key WHERE id = $1`;

export function newApiKey(isTest: boolean): string {
  return `${isTest ? TEST_PREFIX : ''}${randomBytes(API_KEY_BYTES).toString('hex')}`;
}

/** Locks a project, which serializes concurrent changes of its keys. Throws OperatorError if it does not exist. */
export async function lockProject(
  tx: Queryable,
  projectId: string,
): Promise<{ readonly name: string; readonly test: boolean }> {
  const [project] = await tx.query<{ name: string; test: boolean }>(LOCK_PROJECT, [projectId]);
  if (project === undefined) throw noSuchProject(projectId);
  return project;
}

/** Throws OperatorError if ten other keys of the project are active. */
export async function requireRoomForKey(tx: Transaction, projectId: string, keyId: string): Promise<void> {
  const others = await tx.repository(ApiKey).countBy({ projectId, id: Not(keyId), revokedAt: IsNull() });
  if (others < KEYS_MAX) return;
  const words = `A project can have at most ${KEYS_MAX.toString()} API keys. Revoke one first.`;
  throw new OperatorError(words, 1, 'LIMIT_REACHED');
}

/**
 * Keeps the present secret valid for `overlapSec`. The caller locks the key. There is room for one earlier secret, so a
 * second rotation would end the one that callers still sign with. Throws OperatorError if `overlapSec` is above 0 while
 * an earlier overlap runs.
 */
export async function keepPreviousSecret(tx: Queryable, keyId: string, overlapSec: number): Promise<void> {
  const [running] = overlapSec > 0 ? await tx.query<{ until: Date }>(RUNNING_OVERLAP, [keyId]) : [];
  if (running !== undefined) {
    throw new OperatorError(
      `The secret before the present one is still valid, until ${timeText(running.until)}. This rotation would end it ` +
        'immediately. Wait until then, create another key, or rotate without an overlap, which ends both secrets.',
    );
  }
  await tx.query(KEEP_PREVIOUS, [keyId, overlapSec]);
}

export async function recordKeyEvent(
  tx: Queryable,
  keyId: string,
  change: 'created' | 'rotated' | 'revoked',
): Promise<void> {
  await tx.query(INSERT_EVENT, [keyId, `key.${change}`]);
}

export function noSuchProject(id: string): OperatorError {
  return new OperatorError(`There is no project ${id}. \`project list\` shows the projects.`, 1, 'NOT_FOUND');
}
