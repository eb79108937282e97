import type { Queryable } from './database.js';

/** Returns the names of the projects with these ids. Omits unknown ids. */
export async function projectNames(on: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await on.query<{ id: string; name: string }>(
    'SELECT id, name FROM project WHERE id = ANY ($1::uuid[])',
    [[...new Set(ids)]],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}
