// Compares a database with the code's schema: functions and triggers by their definitions, all else by a committed
// listing.
import type { Queryable } from '../../../src/platform/database/database.js';
import { functionsOf, listingOf, triggersOf } from '../../../src/platform/database/schema-lines.js';

/** The schema of the code. Each statement creates one function. */
export interface Wanted {
  readonly functions: Readonly<Record<string, string>>;
  readonly triggers: readonly string[];
  /** Lines of the committed listing. */
  readonly listing: readonly string[];
}

/** Every difference as a line that says which side has it. Run it in a transaction that is rolled back. */
export async function driftOf(tx: Queryable, wanted: Wanted): Promise<string[]> {
  const listing = await listingOf(tx);
  const triggers = await triggersOf(tx);
  const functions = await functionsOf(tx, 'public');
  await tx.query('CREATE SCHEMA wanted');
  await tx.query('SET LOCAL search_path = wanted, public');
  for (const statement of Object.values(wanted.functions)) await tx.query(statement);
  const made = await functionsOf(tx, 'wanted');
  const undefinedNames = Object.keys(wanted.functions).filter(
    (name) => !made.some((text) => text.includes(` ${name.split(' ')[0]!}(`)),
  );
  return [
    ...undefinedNames.map((name) => `no statement makes the function ${name}`),
    ...differences('function', functions, made),
    ...differences('trigger', triggers, wanted.triggers),
    ...differences('listing', listing, wanted.listing),
  ];
}

function differences(kind: string, has: readonly string[], wants: readonly string[]): string[] {
  return [
    ...wants.filter((line) => !has.includes(line)).map((line) => `${kind} only in the code: ${line}`),
    ...has.filter((line) => !wants.includes(line)).map((line) => `${kind} only in the database: ${line}`),
  ];
}
