// The statements of an order's life by step. pg_stat_statements replaces the constants of most statements by parameters,
// so a statement is recognised by a part of its text without them.

/** The place of a statement: its own transaction, the first statement of a transaction, or a later one. */
type Role = 'own' | 'first' | 'within';

interface StepStatement {
  readonly step: Step;
  readonly part: RegExp;
  readonly role: Role;
}

/** In the order of an order's life. A step of transactions covers the delegation and the reclaim. */
export const STEPS = [
  'accept',
  'claim',
  'record',
  'sign',
  'mark',
  'broadcast',
  'include',
  'settle',
  'reclaim',
  'events',
  'numbering',
  'deliveries',
  'begin and commit',
  'other',
] as const;
export type Step = (typeof STEPS)[number];

const of = (step: Step, role: Role, ...parts: readonly RegExp[]): StepStatement[] =>
  parts.map((part) => ({ step, part, role }));

const STATEMENTS: readonly StepStatement[] = [
  ...of('begin and commit', 'within', /^(?:BEGIN|COMMIT|ROLLBACK)/),
  ...of('accept', 'own', /take_order\(/, /order_refusals?\(/, /LEFT JOIN LATERAL .* api_key/),
  ...of(
    'claim',
    'own',
    /next_run_at <= statement_timestamp\(\).*UPDATE open_orders/,
    /request_id, extract\(epoch FROM clock_timestamp\(\) - created_at\)/,
    /key_address, w\.sign_failures/,
    /attempt, status, txid, raw_data, signature/,
    /max\(t\.attempt\) AS attempts/,
    /SELECT v\.receiver, (?:u\.\*|o\.id)/,
    /held\.delay_ms/,
  ),
  ...of('record', 'own', /INSERT INTO chain_tx/, /INSERT INTO reclaim_usage/),
  ...of('mark', 'first', /SELECT t\.id FROM unnest\(.*FOR NO KEY UPDATE OF o, t, l/),
  ...of('mark', 'own', /sends = \$\d+.*UPDATE open_orders/, /UPDATE open_orders.*sends = \$\d+/),
  ...of('sign', 'own', /SET status = \$\d+, signature = /),
  ...of(
    'mark',
    'within',
    /sent_at = clock_timestamp\(\), sends = \$/,
    /AS v\(id, status\)/,
    /placed_at = clock_timestamp/,
  ),
  ...of(
    'broadcast',
    'own',
    /INSERT INTO broadcast/,
    /INSERT INTO receiver_energy/,
    /SELECT receive_address AS address/,
  ),
  ...of('include', 'own', /WHERE txid = ANY \(/),
  ...of('include', 'first', /SELECT t\.id AS tx_id.*t\.status = \$/),
  ...of(
    'include',
    'within',
    /block_number = \$\d+, block_id = \$\d+, block_at/,
    /active_at = \$\d+, changed_at/,
    /delivered_energy = s\.energy/,
    /NOT EXISTS \(SELECT FROM open_leg WHERE order_id = o\.id AND status NOT IN \(\$\d+, \$\d+\)\)$/,
  ),
  ...of('settle', 'own', /\(block_number, id\) > \(/),
  ...of('settle', 'within', /AND block_id = \$\d+\s+RETURNING/, /SET settled = \$/, /SET fee_sun = seen\.fee_sun/),
  ...of('reclaim', 'own', /ends_at <= \$\d+.*UPDATE open_orders/),
  ...of(
    'reclaim',
    'within',
    /SET reclaimed_at = s\.at/,
    /UPDATE open_leg SET status = \$\d+, changed_at = clock_timestamp\(\) WHERE id = ANY \(\$\d+::bigint\[\]\) AND status = \$/,
    /needs_attention = o\.needs_attention AND o\.undoing/,
  ),
  ...of('numbering', 'first', /pg_try_advisory_xact_lock\(\$\d+\) AS held/),
  ...of('numbering', 'within', /UPDATE event e SET position/, /coalesce\(p\.position, \$/),
  ...of('numbering', 'own', /FROM event_numbering\) IS DISTINCT FROM/, /server_mark IS DISTINCT FROM server_mark\(\)/),
  ...of('numbering', 'own', /FROM event WHERE position IS NULL AND type IS NOT NULL ORDER BY id LIMIT/),
  ...of('deliveries', 'own', /webhook_(?:delivery|state|endpoint|destination)/),
];

/** Returns the step of a statement, and whether it is a transaction of its own. */
export function stepOf(query: string): { readonly step: Step; readonly beginsTransaction: boolean } {
  const text = query
    .replaceAll(/'[^']*'|(?<![\w$.])\d+(?![\w.])/g, '$0')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const found = STATEMENTS.find(({ part }) => part.test(text));
  return { step: found?.step ?? 'other', beginsTransaction: found?.role !== 'within' };
}
