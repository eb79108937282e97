/** Single rows by their keys, many keys by one statement. */
import { Batched } from '../base/batch-loader.js';
import type { Database, Statement } from './database.js';

const LIMITS = { atOnce: 4, keys: 100, waitMs: 2000 };
/** The limit of all waits for a silent connection, ms; a row is found in a thousandth of it. */
const ANSWER_LIMIT_MS = 5000;

/** The extra column of such a statement: the place of its key in the given list, from 1. */
interface Placed {
  readonly place: number;
}

/**
 * `statement` takes an array of text for each part of a key, all of one length, and answers at most one row for each
 * place. Finding throws as `query` does.
 */
export function rowsByKey<R extends object>(database: Database, statement: Statement): Batched<R> {
  const limited = { ...statement, query_timeout: ANSWER_LIMIT_MS };
  return new Batched<R>(LIMITS, async (keys) => {
    const parts = keys[0]?.map((_, part) => keys.map((key) => key[part])) ?? [];
    const rows = await database.query<R & Placed>(limited, parts);
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return keys.map((_, index) => byPlace.get(index + 1));
  });
}
