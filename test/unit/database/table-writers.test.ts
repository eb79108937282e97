// The declared writers of each table, compared with the source. Other modules call these to change a row.
import { readdirSync, readFileSync } from 'node:fs';

/** The folders of src/modules and src/platform that write each table. `sql` are the database's own functions. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  api_key: ['auth', 'projects', 'sql'],
  archived_chain_tx: ['sql'],
  archived_leg: ['sql'],
  archived_orders: ['sql'],
  asset_rate: ['deposits', 'sql'],
  audit_log: ['database', 'sql'],
  auto_delegation: ['auto-delegations', 'sql'],
  blacklisted_address: ['deposits'],
  broadcast: ['fulfilment'],
  chain_tx: ['order-records'],
  clock_mark: ['fulfilment'],
  console_session: ['people'],
  credit_account: ['billing', 'sql'],
  credit_entry: ['billing', 'sql'],
  credit_request: ['billing'],
  deposit: ['deposits'],
  deposit_account: ['deposits'],
  deposit_address: ['deposits'],
  deposit_cursor: ['blocks'],
  deposit_movement: ['deposits'],
  deposit_return: ['deposits'],
  deposit_sum: ['deposits'],
  deposit_sweep_address: ['deposits'],
  deposit_token: ['deposits'],
  event: ['events', 'projects', 'sql'],
  event_numbering: ['events'],
  event_position: ['events', 'sql'],
  explained_finding: ['pool'],
  explanation_request: ['explain'],
  ignored_transfer: ['deposits'],
  invitation: ['people'],
  mail_refusal: ['notifications'],
  judged_credits: ['reconciliation'],
  judged_entries: ['reconciliation'],
  key_canary: ['database'],
  leg: ['order-records', 'sql'],
  membership: ['people'],
  market_state: ['billing', 'database'],
  notification: ['notifications', 'sql'],
  open_chain_tx: ['order-records', 'sql'],
  open_leg: ['order-records', 'sql'],
  open_orders: ['order-records', 'sql'],
  order_extension: ['sql'],
  order_key: ['sql'],
  order_replay: ['orders', 'sql'],
  orders: ['order-records', 'sql'],
  orphan_tx: ['pool', 'reconciliation'],
  parked_payment: ['deposits'],
  person: ['people'],
  pool_slot: ['fulfilment', 'pool', 'sql'],
  pool_wallet: ['fulfilment', 'pool', 'sql'],
  pool_wallet_day: ['pool'],
  price_row: ['quotes'],
  project: ['projects'],
  receiver_energy: ['fulfilment'],
  reclaim_usage: ['fulfilment'],
  reconcile_state: ['fulfilment', 'pool', 'reconciliation'],
  recovery_code: ['people'],
  refused_request: ['auth', 'requests'],
  rental_use: ['savings'],
  request_nonce: ['auth'],
  sales_stop: ['pool'],
  sign_in_guess: ['people'],
  statement: ['statements'],
  statement_month: ['statements'],
  token_state: ['deposits'],
  unsearched_block: ['reconciliation'],
  webhook_act: ['webhooks'],
  webhook_delivery: ['sender', 'sql', 'webhooks'],
  webhook_destination: ['sender'],
  webhook_endpoint: ['sender', 'webhooks'],
  webhook_state: ['sender', 'sql', 'webhooks'],
};

/** Tables or columns that only one file may write. */
const FILES: readonly (readonly [string, string, RegExp])[] = [
  ['orders.judged', 'src/modules/order-records/order-transitions.ts', /\bSET\b[^`]*\bjudged = true/],
  [
    'judged_credits and judged_entries',
    'src/modules/reconciliation/judged-records.ts',
    sql('judged_credits', 'judged_entries'),
  ],
  [
    'a new row of orphan_tx',
    'src/modules/reconciliation/unrecorded-search.ts',
    /\b(INSERT INTO|DELETE FROM) orphan_tx\b/,
  ],
  ['a wallet’s books_fault', 'src/modules/pool/sales-hold.ts', /\bSET books_fault =/],
  ['sales_stop and explained_finding', 'src/modules/pool/sales-hold.ts', sql('sales_stop', 'explained_finding')],
  ['credit_request', 'src/modules/billing/credit-requests.ts', sql('credit_request')],
  ['price_row', 'src/modules/quotes/prices.ts', /\.repository\(PriceRow\)/],
  ['project', 'src/modules/projects/projects.ts', /\.repository\(Project\)/],
];

function sql(...tables: readonly string[]): RegExp {
  return new RegExp(`\\b(INSERT INTO|UPDATE|DELETE FROM) (${tables.join('|')})\\b`);
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.ts$|\/sql\/functions\//.test(path) && !/^modules\/signer\/|\/migrations\//.test(path))
  .map((path) => ({ path: `src/${path}`, text: readFileSync(`src/${path}`, 'utf8') }));

const tableOf = new Map(
  files.flatMap(({ text }) =>
    [...text.matchAll(/@Entity\('(\w+)'\)\nexport class (\w+)/g)].map(
      ([, table, entity]) => [entity!, table!] as const,
    ),
  ),
);

const folderOf = (path: string): string =>
  path.startsWith('src/platform/database/sql/') ? 'sql' : /^src\/\w+\/([\w-]+)/.exec(path)![1]!;

/**
 * Returns the tables written by a file: by SQL statements, and through a transaction's repositories. A named query
 * builder on a repository only reads and does not count.
 */
function writesOf(text: string): string[] {
  const statements = [...text.matchAll(/\b(?:INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE)\s+"?(\w+)/g)];
  const repositories = [...text.matchAll(/\.repository\((\w+)\)(?!\s*\.createQueryBuilder\(')/g)].map(([, entity]) =>
    tableOf.get(entity!),
  );
  return [...statements.map(([, table]) => table), ...repositories].filter(
    (table) => table !== undefined && table in WRITERS,
  ) as string[];
}

test('exactly the declared modules write each table of the schema', () => {
  const tables = readFileSync('test/integration/database/schema.txt', 'utf8').matchAll(/^column (\w+)\./gm);
  expect(Object.keys(WRITERS).sort()).toEqual([...new Set([...tables].map(([, table]) => table))].sort());
  const found: Record<string, Set<string>> = Object.fromEntries(
    Object.keys(WRITERS).map((table) => [table, new Set()]),
  );
  for (const { path, text } of files) for (const table of writesOf(text)) found[table]!.add(folderOf(path));
  const writers = Object.entries(found).map(([table, modules]) => [table, [...modules].sort()]);
  expect(Object.fromEntries(writers)).toEqual(WRITERS);
});

test('writes no row to a partition of open orders by name: before Postgres 17 only the parents assign ids', () => {
  const writing = files.filter(({ text }) => /\bINSERT INTO open_(orders|leg|chain_tx)\b/.test(text));
  expect(writing.map(({ path }) => path)).toEqual([]);
});

test.each(FILES)('only the declared place writes %s: %s', (_, path, statement) => {
  expect(files.filter(({ text }) => statement.test(text)).map((file) => file.path)).toEqual([path]);
});

test('injected repositories only read, because their writes would have no transaction or retries', () => {
  const writing = files.flatMap(({ path, text }) =>
    [...text.matchAll(/@InjectRepository\(\w+\) private readonly (\w+)/g)]
      .filter(([, name]) =>
        new RegExp(`this\\.${name!}\\s*\\.(?!find|count|exist|createQueryBuilder|sum|query)\\w+`).test(text),
      )
      .map(([, name]) => `${path}: ${name!}`),
  );
  expect(writing).toEqual([]);
});
