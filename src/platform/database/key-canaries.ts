/**
 * Key canaries: a known text for each purpose, sealed under its key. Every process and command checks its keys against
 * them. `cli migrate` writes missing canaries and `cli keys rewrap` reseals them. All other processes only read them,
 * and only for the purposes of their own keys. A canary row also holds the key's public half if other processes seal to
 * it.
 */
import type { HeldSealers } from '../support/sealers.js';
import { StartError } from '../../domain/errors.js';
import { SEAL_KEY_SETTINGS } from '../config/config.js';
import { BOX_PURPOSES, type Sealer, type SealPurpose } from '../support/seal.js';
import type { Queryable } from './database.js';
import type { ResealCount } from './resealing.js';

/** The context of a canary's seal. Context and content are public, so that a canary proves only the key. */
const CONTEXT = 'canary';

const READ = { name: 'read_canaries', text: `SELECT purpose, sealed, public_key FROM key_canary ORDER BY purpose` };

interface CanaryRow {
  readonly purpose: SealPurpose;
  readonly sealed: Buffer;
  readonly public_key: Buffer | null;
}

const REPLACE = `UPDATE key_canary SET sealed = $3, public_key = $4, sealed_at = clock_timestamp()
  WHERE purpose = $1 AND sealed = $2 RETURNING purpose`;
const WRITE = `INSERT INTO key_canary (purpose, sealed, public_key) VALUES ($1, $2, $3) ON CONFLICT (purpose) DO NOTHING`;
/** Completes a canary of an earlier version. */
const PUBLISH = `UPDATE key_canary SET public_key = $2 WHERE purpose = $1 AND public_key IS NULL`;

/**
 * Without a canary, the newest secrets under the key are tried instead. One that opens is enough: a single secret may
 * have been sealed under a wrong key, and can be replaced. Quotes are not stored, so they have none.
 */
const NEWEST: Readonly<Partial<Record<SealPurpose, { readonly column: readonly string[]; readonly text: string }>>> = {
  'api-key': {
    column: ['project', 'api_key_sealed'],
    text: `SELECT id::text AS context, api_key_sealed AS sealed FROM project ORDER BY created_at DESC LIMIT 20`,
  },
  'pool-key': {
    column: ['pool_wallet', 'key_sealed'],
    text: `SELECT address AS context, key_sealed AS sealed FROM pool_wallet WHERE key_sealed IS NOT NULL
            ORDER BY id DESC LIMIT 20`,
  },
  'webhook-secret': {
    column: ['webhook_endpoint', 'secret_sealed'],
    text: `SELECT id::text AS context, secret_sealed AS sealed FROM webhook_endpoint WHERE secret_sealed IS NOT NULL
            ORDER BY created_at DESC LIMIT 20`,
  },
};

/** A login without the right to read the secrets has no use for their key; only a canary can check it. */
const MAY_READ = `SELECT has_column_privilege($1, $2, 'SELECT') AS may`;

export function sealCanary(purpose: SealPurpose, sealer: Sealer): Buffer {
  return sealer.seal(Buffer.from(purpose), CONTEXT);
}

/** Returns the public key that other processes seal to; null for purposes without one. */
function publicKeyOf(purpose: SealPurpose, sealer: Sealer): Buffer | null {
  return BOX_PURPOSES.some((each) => each === purpose) ? sealer.publicKey : null;
}

/**
 * Returns true if the row is the purpose's canary under a key of `sealer`, with that key's public half if it has one.
 */
function opensCanary({ purpose, sealed, public_key: publicKey }: CanaryRow, sealer: Sealer): boolean {
  if (publicKey !== null && !sealer.isOurs(publicKey)) return false;
  return sealer.open(sealed, CONTEXT)?.toString() === purpose;
}

/** Returns true if the canary is already sealed under the newest key. */
function isCurrent({ sealed, public_key: publicKey }: CanaryRow, sealer: Sealer): boolean {
  return sealer.isCurrent(sealed) && (publicKey === null || publicKey.equals(sealer.publicKey));
}

/** Throws StartError `WRONG_KEY` unless every key in `held` is right. Returns the purposes without a canary. */
export async function checkKeys(database: Queryable, held: HeldSealers): Promise<readonly SealPurpose[]> {
  const rows = await database.query<CanaryRow>(READ);
  const canaries = new Map(rows.map((row) => [row.purpose, row]));
  const wrong: SealPurpose[] = [];
  const missing: SealPurpose[] = [];
  for (const [purpose, sealer] of held) {
    const row = canaries.get(purpose);
    if (row === undefined) missing.push(purpose);
    const isRight = row === undefined ? await opensNewest(database, purpose, sealer) : opensCanary(row, sealer);
    if (!isRight) wrong.push(purpose);
  }
  if (wrong.length > 0) throw wrongKey(wrong, exchangedKeys(wrong, rows, held));
  return missing;
}

/** Checks the keys like `checkKeys`, then writes the missing canaries. Returns the purposes written. */
export async function writeCanaries(database: Queryable, held: HeldSealers): Promise<readonly SealPurpose[]> {
  const missing = await checkKeys(database, held);
  for (const [purpose, sealer] of held) {
    const publicKey = publicKeyOf(purpose, sealer);
    if (missing.includes(purpose)) await database.query(WRITE, [purpose, sealCanary(purpose, sealer), publicKey]);
    else if (publicKey !== null) await database.query(PUBLISH, [purpose, publicKey]);
  }
  // A process with another key may have written them first.
  if (missing.length > 0) await checkKeys(database, held);
  return missing;
}

/** Reseals the canaries under the newest key of each purpose. Unless `isReplacing`, only counts those to reseal. */
export async function resealCanaries(
  database: Queryable,
  held: HeldSealers,
  isReplacing: boolean,
): Promise<ResealCount> {
  let rewrapped = 0;
  let current = 0;
  const failed: string[] = [];
  for (const row of await database.query<CanaryRow>(READ)) {
    const { purpose, sealed } = row;
    const sealer = held.get(purpose);
    if (sealer === undefined) continue;
    const rewritten = [purpose, sealed, sealCanary(purpose, sealer), publicKeyOf(purpose, sealer)];
    if (!opensCanary(row, sealer)) failed.push(purpose);
    else if (isCurrent(row, sealer)) current += 1;
    else if (!isReplacing || (await database.query(REPLACE, rewritten)).length === 1) rewrapped += 1;
    else current += 1;
  }
  return { rewrapped, current, failed };
}

async function opensNewest(database: Queryable, purpose: SealPurpose, sealer: Sealer): Promise<boolean> {
  const newest = NEWEST[purpose];
  if (newest === undefined) return true;
  const [right] = await database.query<{ may: boolean }>(MAY_READ, newest.column);
  if (right?.may !== true) return true;
  const rows = await database.query<{ context: string; sealed: Buffer }>(newest.text);
  const opens = rows.some(({ context, sealed }) => {
    const plain = sealer.open(sealed, context);
    plain?.fill(0);
    return plain !== undefined;
  });
  return rows.length === 0 || opens;
}

/** Returns a sentence for each setting that holds the key of another purpose. */
function exchangedKeys(wrong: readonly SealPurpose[], rows: readonly CanaryRow[], held: HeldSealers): string[] {
  return wrong.flatMap((purpose) => {
    const owner = rows.find((row) => row.purpose !== purpose && held.get(purpose)?.open(row.sealed, CONTEXT));
    return owner === undefined ? [] : [`${settingOf(purpose)} holds the key of ${settingOf(owner.purpose)}`];
  });
}

const settingOf = (purpose: SealPurpose): string => SEAL_KEY_SETTINGS[purpose];

function wrongKey(purposes: readonly SealPurpose[], exchanged: readonly string[]): StartError {
  if (exchanged.length > 0) {
    return new StartError(
      'WRONG_KEY',
      `Keys are swapped: ${exchanged.join(', ')}. Give each setting the key that \`cli secrets derive\` prints for it.`,
    );
  }
  return new StartError(
    'WRONG_KEY',
    `MASTER_KEY is not the key of this database (it, or the keys set instead of it, cannot decrypt: ${purposes.join(', ')}). ` +
      'Set the original key; during a rotation, MASTER_KEY_PREVIOUS is the other key.',
  );
}
