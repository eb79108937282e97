/** Reads single rows by their keys, with one statement for many keys. */
import { BatchLoader } from '../support/batch-loader.js';
import type { Database, Statement } from './database.js';

const LIMITS = { concurrent: 4, size: 100, waitMs: 2000 };
/** Limit of the wait for an answer on a silent connection, ms. Finding a row takes about a thousandth of it. */
const ANSWER_LIMIT_MS = 5000;

/** The index of a row's key in the given list, from 1. The statement returns it as an extra column. */
interface Placed {
  readonly place: number;
}

/**
 * Returns a batched look-up of rows by key. `statement` takes a text array for each part of the key, all of the same
 * length. It returns at most one row for each index. A look-up throws the errors of `query`.
 */
export function rowsByKey<R extends object>(database: Database, statement: Statement): BatchLoader<R> {
  const limited = { ...statement, query_timeout: ANSWER_LIMIT_MS };
  return new BatchLoader<R>(LIMITS, async (keys) => {
    const parts = keys[0]?.map((_, part) => keys.map((key) => key[part])) ?? [];
    const rows = await database.query<R & Placed>(limited, parts);
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return keys.map((_, index) => byPlace.get(index + 1));
  });
}
