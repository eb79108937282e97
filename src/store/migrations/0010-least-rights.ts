/**
 * An order is taken with the rights of the function's owner, so that an API needs none on orders, ledger and balances;
 * nobody runs a function unless it is granted to him. And whatever is kept for ever is neither emptied nor lost row by
 * row, also where one role does everything.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const ACCEPT_ORDER = `accept_order(uuid, text, bytea, text, uuid, timestamptz, text, bigint, integer, bigint, bigint, bigint,
  bigint, bigint, text, text, integer, integer)`;
/** By name: other functions of this schema may be an extension's. */
const OTHER_FUNCTIONS = `reserve_capacity, split_capacity, take_from_slots, server_mark, announce_project, chain_tx_guard,
  credit_entry_guard, leg_guard, orders_guard, pool_wallet_status, refuse_change, sales_stop_reaches_wallets`;
const KEPT = ['project', 'credit_account', 'pool_wallet', 'orphan_tx'];
const NEVER_EMPTIED = [...KEPT, 'broadcast', 'order_event'];

const UP = [
  `REVOKE EXECUTE ON FUNCTION ${ACCEPT_ORDER}, ${OTHER_FUNCTIONS} FROM PUBLIC`,
  // Temporary tables last: somebody's own must not stand in for ours.
  `ALTER FUNCTION ${ACCEPT_ORDER} SECURITY DEFINER SET search_path = public, pg_temp`,
  ...KEPT.map(
    (table) => `CREATE TRIGGER ${table}_kept BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  ),
  ...NEVER_EMPTIED.map(
    (table) => `CREATE TRIGGER ${table}_no_truncate BEFORE TRUNCATE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  ),
];

const DOWN = [
  ...NEVER_EMPTIED.map((table) => `DROP TRIGGER ${table}_no_truncate ON ${table}`),
  ...KEPT.map((table) => `DROP TRIGGER ${table}_kept ON ${table}`),
  `ALTER FUNCTION ${ACCEPT_ORDER} SECURITY INVOKER RESET search_path`,
  `GRANT EXECUTE ON FUNCTION ${ACCEPT_ORDER}, ${OTHER_FUNCTIONS} TO PUBLIC`,
];

export class LeastRights1760000000010 implements MigrationInterface {
  readonly name = 'LeastRights1760000000010';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
