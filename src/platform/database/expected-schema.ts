/**
 * The functions, triggers and unique indexes that this version expects in its database. `sql/` holds their texts; a test
 * compares a migrated database with them, and `verify` compares the live one.
 */
import { SQL_FILES } from './sql-files.js';

const filesIn = (folder: string): readonly string[] =>
  Object.entries(SQL_FILES).flatMap(([path, text]) => (path.startsWith(folder) ? [text] : []));

/** The statement that makes each function, by the function's name; for an overload, the name and a number. */
export const FUNCTIONS: Readonly<Record<string, string>> = Object.fromEntries(
  filesIn('sql/functions/').flatMap((file) =>
    [...file.matchAll(/^(CREATE OR REPLACE FUNCTION (\w+)[^]*?\$\$[^]*?\$\$);$/gm)].map(
      ([, statement = '', name = ''], at) => [at === 0 ? name : `${name} ${(at + 1).toString()}`, statement],
    ),
  ),
);

/** Returns the body of a function's statement, as Postgres stores it in `pg_proc.prosrc`. */
export function bodyOf(statement: string): string {
  return statement.slice(statement.indexOf('$$') + 2, statement.lastIndexOf('$$'));
}

/** Every trigger as `pg_get_triggerdef(oid, true)` prints it. The line breaks of the files are removed. */
export const TRIGGERS: readonly string[] = filesIn('sql/tables/').flatMap((file) =>
  [...file.matchAll(/^(CREATE TRIGGER [^;]+);$/gm)].map(([, statement = '']) => statement.replaceAll(/\s+/g, ' ')),
);

/** The unique indexes that decide between concurrent writers of keys, quotes, entries, ids and live transactions, by `pg_get_indexdef`. */
export const REFEREES: Readonly<Record<string, string>> = {
  orders_key: `CREATE UNIQUE INDEX orders_key ON public.open_orders USING btree (project_id, key)`,
  order_key_pkey: `CREATE UNIQUE INDEX order_key_pkey ON public.order_key USING btree (project_id, key)`,
  order_extension_pkey: `CREATE UNIQUE INDEX order_extension_pkey ON public.order_extension USING btree (order_id, number)`,
  orders_quote: `CREATE UNIQUE INDEX orders_quote ON public.open_orders USING btree (quote_id) WHERE (quote_id IS NOT NULL)`,
  chain_tx_live: `CREATE UNIQUE INDEX chain_tx_live ON public.open_chain_tx USING btree (leg_id, purpose) WHERE (stage <> 'dead'::text)`,
  chain_tx_txid_key: `CREATE UNIQUE INDEX chain_tx_txid_key ON public.open_chain_tx USING btree (txid)`,
  credit_entry_entry_key_key: `CREATE UNIQUE INDEX credit_entry_entry_key_key ON public.credit_entry USING btree (entry_key)`,
  chain_tx_leg_id_purpose_attempt_key: `CREATE UNIQUE INDEX chain_tx_leg_id_purpose_attempt_key ON public.open_chain_tx USING btree (leg_id, purpose, attempt)`,
  credit_request_reference: `CREATE UNIQUE INDEX credit_request_reference ON public.credit_request USING btree (kind, reference) WHERE (status <> 'rejected'::text)`,
  deposit_txid_kind_place_key: `CREATE UNIQUE INDEX deposit_txid_kind_place_key ON public.deposit USING btree (txid, kind, place)`,
  deposit_token_first: `CREATE UNIQUE INDEX deposit_token_first ON public.deposit_token USING btree (((replaces IS NULL))) WHERE (replaces IS NULL)`,
  deposit_return_txid_key: `CREATE UNIQUE INDEX deposit_return_txid_key ON public.deposit_return USING btree (txid)`,
  auto_delegation_address: `CREATE UNIQUE INDEX auto_delegation_address ON public.auto_delegation USING btree (project_id, address)`,
  statement_pkey: `CREATE UNIQUE INDEX statement_pkey ON public.statement USING btree (project_id, number)`,
  statement_project_id_month_key: `CREATE UNIQUE INDEX statement_project_id_month_key ON public.statement USING btree (project_id, month)`,
  leg_order_id_leg_no_key: `CREATE UNIQUE INDEX leg_order_id_leg_no_key ON public.open_leg USING btree (order_id, leg_no)`,
};
