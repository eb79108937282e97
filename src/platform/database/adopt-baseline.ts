/**
 * Moves a database of the unreleased versions onto the baseline. Those versions had a chain of migrations that the
 * baseline replaced. `sql/adopt-baseline.sql` holds the differences between the schemas of both, except for the functions
 * in RENEWED, whose texts the baseline has.
 */
import { createHash } from 'node:crypto';
import { invariant } from '../../domain/errors.js';
import { sqlStateOf, type Queryable } from './database.js';
import { BASELINE_OBJECTS } from './baseline-fingerprint.js';
import { functionsOf, listingOf, triggersOf } from './schema-lines.js';
import { SQL_FILES } from './sql-files.js';

const BASELINE = { name: 'Baseline1760000000001', timestamp: '1760000000001' } as const;
const CHAIN_LAST = 'MaskedUrls1760000000091';
const CHAIN_COUNT = 65;
/** SHA-256 of the names in order, joined by commas. */
const CHAIN_SHA256 = '001385a07704781e275f5acac6e27ee04c2c6f29f38344aae3e256e21350442b';

/** The functions that the chain ended with in another form, or without. */
const RENEWED: readonly string[] = [
  'add_archive_range',
  'archive_orders',
  'archived_row',
  'buy_for_auto_delegation',
  'buy_in_console',
  'chain_tx_final',
  'chain_tx_guard',
  'charge_api_key',
  'charge_auto_delegation',
  'charges_of_day',
  'console_buyer',
  'console_purchase_fault',
  'deposit_changed',
  'deposit_guard',
  'end_later_times',
  'extend_for_auto_delegation',
  'extend_in_console',
  'extend_order',
  'leg_guard',
  'order_changed',
  'order_compensated',
  'orders_guard',
  'pool_wallet_status',
  'project_order_legs',
  'prune_test_orders',
  'recount_spending',
  'reserve_capacity',
  'reserve_order',
  'return_to_caps',
  'split_capacity',
  'take_from_slots',
  'take_order',
  'webhook_changed',
  'webhook_fan_out_batch',
];

/** The database stays unchanged. The message has the problem and the remedy. */
export class AdoptionRefusedError extends Error {
  override readonly name = 'AdoptionRefusedError';
}

/** Returns true if the names begin like those of the replaced chain. */
export const isOfChain = (names: readonly string[]): boolean => names.length > 0 && names[0] === 'Initial1760000000001';

/**
 * Returns a hash of each table (with its columns, constraints, indexes and triggers) and of each function. Row security
 * is left out: it is on only where the roles are used.
 */
export async function fingerprintOf(tx: Queryable): Promise<Readonly<Record<string, string>>> {
  const lines = new Map<string, string[]>();
  const add = (object: string, line: string): void => {
    lines.set(object, [...(lines.get(object) ?? []), line]);
  };
  for (const line of await listingOf(tx)) {
    const [kind = '', name = ''] = line.split(' ');
    const object = /^(column|table|constraint|index|policy)$/.test(kind)
      ? `table ${name.split('.')[0] ?? ''}`
      : `${kind} ${name}`;
    add(object, line.replace(/ ROW LEVEL SECURITY$/, ''));
  }
  for (const line of await triggersOf(tx)) {
    add(`table ${/ ON (\S+) (?:REFERENCING|FOR EACH) /.exec(line)?.[1] ?? ''}`, line);
  }
  for (const definition of await functionsOf(tx, 'public')) {
    add(`function ${/FUNCTION (\w+)\(/.exec(definition)?.[1] ?? ''}`, definition);
  }
  return Object.fromEntries(
    [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([object, of]) => [object, sha256(of.join('\n')).slice(0, 12)]),
  );
}

/**
 * Changes the schema to the baseline's and replaces the rows of the chain in `migrations` by the baseline's row. Run it
 * in a transaction. Throws AdoptionRefusedError unless the rows are exactly the chain's and every table and function is
 * then exactly the baseline's.
 */
export async function adoptBaseline(tx: Queryable): Promise<void> {
  await tx.query('LOCK TABLE migrations IN ACCESS EXCLUSIVE MODE');
  const rows = await tx.query<{ name: string }>('SELECT name FROM migrations ORDER BY timestamp, id');
  refuseOtherChain(rows.map(({ name }) => name));
  await changeSchema(tx);
  const found = await fingerprintOf(tx);
  const differing = [...new Set([...Object.keys(BASELINE_OBJECTS), ...Object.keys(found)])]
    .filter((object) => BASELINE_OBJECTS[object] !== found[object])
    .sort();
  if (differing.length > 0) {
    throw new AdoptionRefusedError(
      `The schema differs from the baseline in: ${differing.join(', ')}. Undo these changes, then run the command again. Nothing was done.`,
    );
  }
  await tx.query('DELETE FROM migrations');
  await tx.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [BASELINE.timestamp, BASELINE.name]);
}

/** Returns the statements of a function in the baseline, with the one that revokes the right of PUBLIC. */
function textOf(name: string): string {
  const statements = new RegExp(`^CREATE OR REPLACE FUNCTION ${name}\\([^]*?^REVOKE EXECUTE [^;]*;$`, 'm');
  const [found] = statements.exec(SQL_FILES['migrations/0001-baseline.sql'] ?? '') ?? [];
  invariant(found !== undefined, `the baseline has the function ${name}`);
  return found;
}

/** A schema that someone changed may lack what the script changes. */
async function changeSchema(tx: Queryable): Promise<void> {
  try {
    // Functions and tables refer to each other.
    await tx.query('SET LOCAL check_function_bodies = off');
    await tx.query(SQL_FILES['sql/adopt-baseline.sql'] ?? '');
    for (const name of RENEWED) await tx.query(textOf(name));
  } catch (error) {
    if (sqlStateOf(error)?.startsWith('42') !== true) throw error;
    throw new AdoptionRefusedError(
      `The schema is not the one of the last version before the baseline: ${(error as Error).message}. Undo the change, then run the command again. Nothing was done.`,
      { cause: error },
    );
  }
}

function refuseOtherChain(names: readonly string[]): void {
  if (names.includes(BASELINE.name)) {
    throw new AdoptionRefusedError(
      'The database is already on the baseline. Run `migrate` for newer migrations. Nothing was done.',
    );
  }
  if (!isOfChain(names)) {
    throw new AdoptionRefusedError(
      `The newest migration is ${names.at(-1) ?? 'none'}, not ${CHAIN_LAST}. For an empty database, run only \`migrate\`. Nothing was done.`,
    );
  }
  if (names.length !== CHAIN_COUNT || sha256(names.join(',')) !== CHAIN_SHA256) {
    throw new AdoptionRefusedError(
      `The newest of ${names.length.toString()} migrations is ${names.at(-1) ?? 'none'}, not ${CHAIN_LAST}. Run \`migrate\` of the last version before the baseline first. Nothing was done.`,
    );
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
