// Constants and expressions that TypeScript and the SQL files both hold are the same in both.
import { DEPOSIT_ASSETS, DEPOSIT_TRANSITIONS } from '../../../src/domain/deposit-state.js';
import {
  CHAIN_TX_TRANSITIONS,
  EXTENSIONS_MAX,
  LEG_TRANSITIONS,
  LEGS_MAX,
  ORDER_TRANSITIONS,
  REFILL_LEAD_SEC,
} from '../../../src/domain/order-state.js';
import { FUNCTIONS, TRIGGERS } from '../../../src/platform/database/expected-schema.js';
import { compensationsOf, extensionsOf, legsOf } from '../../../src/platform/database/order-details-sql.js';
import { RETURN_IS_PAID } from '../../../src/platform/database/paid-return.js';
import { LOCK_WAIT_MS, REFUSAL_SQLSTATE } from '../../../src/platform/database/refusals.js';
import { SQL_FILES } from '../../../src/platform/database/sql-files.js';

type Transitions = Readonly<Record<string, readonly string[]>>;

const movesOf = (transitions: Transitions): string =>
  Object.entries(transitions)
    .flatMap(([from, tos]) => tos.map((to) => `('${from}','${to}')`))
    .join(', ');
const listOf = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ');

it.each<[string, Transitions]>([
  ['orders_guard', ORDER_TRANSITIONS],
  ['leg_guard', LEG_TRANSITIONS],
  ['chain_tx_guard', CHAIN_TX_TRANSITIONS],
  ['deposit_guard', DEPOSIT_TRANSITIONS],
])('%s allows the moves and statuses of the domain', (name, transitions) => {
  expect(FUNCTIONS[name]).toContain(`(OLD.status, NEW.status) NOT IN (${movesOf(transitions)})`);
  expect(FUNCTIONS[name]).toContain(`NEW.status IN (${listOf(Object.keys(transitions))})`);
});

it.each(['orders_guard', 'leg_guard', 'chain_tx_guard', 'credit_entry_guard'])(
  '%s names exactly the rules that it judges by',
  (name) => {
    const [, judged = ''] = /IF NOT \(([^]*?)\) THEN\n {4}RAISE/.exec(FUNCTIONS[name]!)!;
    const rules = [...FUNCTIONS[name]!.matchAll(/^ +(?:RAISE .* CASE\n +)?WHEN NOT (\([^]*?\)) THEN '[^']+'/gm)];
    expect(judged.split(/\n {4}AND (?=\()/)).toEqual(rules.map(([, rule]) => rule));
  },
);

it.each<[string, readonly string[]]>([
  ['take_order', [`p_legs_max integer DEFAULT ${LEGS_MAX}`, `p_lock_ms integer DEFAULT ${LOCK_WAIT_MS}`]],
  ['reserve_capacity', [`p_legs_max integer DEFAULT ${LEGS_MAX}`]],
  ['extend_order', [`v_order.extensions >= ${EXTENSIONS_MAX}`, `p_lock_ms integer DEFAULT ${LOCK_WAIT_MS}`]],
  ['buy_for_auto_delegation', [`p_lock_ms integer DEFAULT ${LOCK_WAIT_MS}`]],
  [
    'extend_for_auto_delegation',
    [`interval '${REFILL_LEAD_SEC} seconds'`, `p_lock_ms integer DEFAULT ${LOCK_WAIT_MS}`],
  ],
  ['deposit_guard', [`NEW.asset IN (${listOf(DEPOSIT_ASSETS)})`]],
  ['order_changed', [legsOf('NEW', 'open_'), compensationsOf('NEW'), extensionsOf('NEW')]],
  ['order_compensated', [legsOf('o'), compensationsOf('o'), extensionsOf('o')]],
  ['project_order_legs', [legsOf('o')]],
  ['project_order_compensations', [compensationsOf('o')]],
  ['project_deposit_returns', [RETURN_IS_PAID]],
])('%s has the values of the code', (name, texts) => {
  for (const text of texts) expect(FUNCTIONS[name]).toContain(text);
});

it('every refusal has the code that identifies it', () => {
  const codes = Object.values(FUNCTIONS).flatMap((text) => text.match(/(?:ERRCODE =|SQLSTATE) '\w{5}'/g) ?? []);
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.filter((code) => !code.endsWith(`'${REFUSAL_SQLSTATE}'`))).toEqual([]);
});

it('an order and an extension charge the balance by the same statements', () => {
  const chargeOf = (name: string): string | undefined =>
    /^ {2}LOOP\n {4}v_today :=[^]*?^ {2}END LOOP;$/m.exec(FUNCTIONS[name]!)?.[0];
  expect(chargeOf('take_order')).toBeDefined();
  expect(chargeOf('extend_order')).toBe(chargeOf('take_order'));
});

it.each([
  [
    'take_order',
    ['pg_advisory_xact_lock(1, ', 'INSERT INTO orders', 'reserve_capacity('],
    ['charge_auto_delegation(', 'charge_api_key(', 'UPDATE credit_account a', 'INSERT INTO credit_entry'],
  ],
  [
    'extend_order',
    ['pg_advisory_xact_lock(1, ', 'FOR NO KEY UPDATE', 'INSERT INTO order_key'],
    ['charge_auto_delegation(', 'charge_api_key(', 'UPDATE credit_account a', 'INSERT INTO credit_entry'],
  ],
  ['return_to_caps', ['UPDATE auto_delegation'], ['UPDATE api_key']],
])('%s locks in the written order', (name, taken, charged) => {
  const text = FUNCTIONS[name]!;
  const places = [...taken, ...charged].map((part) => text.split(part).length === 2 && text.indexOf(part));
  expect(places).not.toContain(false);
  expect(places).toEqual([...places].sort((a, b) => Number(a) - Number(b)));
});

const TRIGGER_FUNCTIONS = Object.entries(FUNCTIONS).filter(([, text]) => text.includes('RETURNS trigger'));

it('no trigger changes a balance, what a cap counts, or the capacity of a wallet', () => {
  expect(TRIGGER_FUNCTIONS.length).toBeGreaterThan(25);
  const charging = TRIGGER_FUNCTIONS.filter(([, text]) =>
    /\b(?:balance_credits|spent_credits|purchases|free_sun|free_transactions|free_bandwidth_sun) = /.test(text),
  );
  expect(charging.map(([name]) => name)).toEqual([]);
});

it('no two triggers of a table set the same column, so that the order of their names has no effect', () => {
  const set = TRIGGERS.flatMap((trigger) => {
    const [, table = '', name = ''] = / ON (\w+) .*EXECUTE FUNCTION (\w+)\(/.exec(trigger) ?? [];
    const columns = new Set([...FUNCTIONS[name]!.matchAll(/\bNEW\.(\w+) :=/g)].map(([, column = '']) => column));
    return [...columns].map((column) => `${table}.${column}`);
  });
  expect(set.length).toBeGreaterThan(4);
  expect(new Set(set).size).toBe(set.length);
});

it('nothing but the rows of a project is chosen by a setting', () => {
  const read = Object.values(SQL_FILES).flatMap((text) =>
    [...text.matchAll(/(?:current_setting|set_config)\('energy\.(\w+)'/g)].map(([, setting]) => setting),
  );
  expect(new Set(read)).toEqual(new Set(['project']));
});
