/** Counts the rows that a statement reads from tables, by the plan that Postgres chooses. */
import type pg from 'pg';

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

export const PLAN_MODES = ['force_custom_plan', 'force_generic_plan'] as const;

/** Executes a statement and rolls it back. The values become untyped literals, so the statement's casts decide. */
export async function rowsRead(
  client: pg.Client,
  mode: (typeof PLAN_MODES)[number],
  text: string,
  values: readonly unknown[],
): Promise<number> {
  await client.query(`BEGIN; SET LOCAL plan_cache_mode = ${mode}; PREPARE counted AS ${text}`);
  const literals = values.map((value) =>
    client.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : String(value)),
  );
  const call = literals.length === 0 ? '' : `(${literals.join(', ')})`;
  const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE counted${call}`,
  );
  await client.query('ROLLBACK; DEALLOCATE counted');
  return Math.round(rows[0]!['QUERY PLAN'].reduce((sum, { Plan }) => sum + readBy(Plan), 0));
}

function readBy(node: PlanNode): number {
  const each =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const own = node['Relation Name'] === undefined ? 0 : each * node['Actual Loops'];
  return (node.Plans ?? []).reduce((sum, child) => sum + readBy(child), own);
}
