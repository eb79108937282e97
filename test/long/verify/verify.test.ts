// `verify`: no findings on a live service; exit code 1 and the right checks when something is wrong.
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { openLog } from '../../support/log.js';
import { findingsOf, type Report } from '../../../src/modules/verify/finding.js';
import { ContentJudge } from '../../../src/modules/verify/transaction-content.js';
import { buildTransaction } from '../../../src/platform/chain/signed-transaction.js';
import { until } from '../../../packages/local/src/wait.js';
import { sun } from '../../../src/domain/units.js';
import { FUNCTIONS, TRIGGERS } from '../../../src/platform/database/expected-schema.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { namesOf, ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

let fixture: ReconciliationFixture;
const receiver = (index: number): string => fixture.service.accounts[index]!.address;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
  // A day, which the fast chain does not reach: the delegations changed below still exist.
  await fixture.rent(receiver(0), 65_000, 86_400);
  await fixture.rent(receiver(1), 65_000, 86_400);
  const numberer = new Numberer(fixture.database, new Metrics(), openLog('silent'));
  while ((await numberer.numberBatch()) > 0);
  // The changed rows below are older than the blocks that `verify` searches for unrecorded acts.
  await fetch(`${fixture.service.controlUrl}/mine`, { method: 'POST', body: JSON.stringify({ count: 60 }) });
});

afterAll(() => fixture.close());

it('verify passes on a live service while orders are on their way', async () => {
  const bought = await Promise.all(
    Array.from({ length: 10 }, (_, index) => fixture.buy(receiver(index % 3), 65_000 + index)),
  );
  expect(bought.map(({ status }) => status)).toEqual(Array(10).fill(202));
  for (let look = 0; look < 5; look += 1) expect(findingsOf(await fixture.verify())).toEqual([]);
  const { code, out } = await fixture.cli('verify');
  expect({ code, isWhole: out.includes('Everything agrees.') }).toEqual({ code: 0, isWhole: true });
  // Verification tolerates a delegation that is not final, which would hide the changes below.
  const areSettled = async (): Promise<true | undefined> => {
    const [row] = await fixture.database.query<{ open: number }>(
      `SELECT count(*)::int AS open FROM orders WHERE NOT settled`,
    );
    return row!.open === 0 ? true : undefined;
  };
  await until(areSettled, 120_000, 'all that was bought being settled', 100);
});

/**
 * Changes a top-up entry and the balance by the same amount, so that the balance still equals the sum of its entries.
 */
function topUpBy(credits: bigint): string {
  const by = credits.toString();
  return `UPDATE credit_entry SET credits = credits + ${by} WHERE id = (SELECT min(id) FROM credit_entry WHERE kind = 'topup');
    UPDATE credit_account SET balance_credits = balance_credits + ${by}
     WHERE project_id = (SELECT project_id FROM credit_entry WHERE kind = 'topup' ORDER BY id LIMIT 1)`;
}

/** Rejects nothing, but still writes the history of moving orders. */
const PERMISSIVE_GUARD = FUNCTIONS['orders_guard']!.replaceAll('RAISE EXCEPTION', 'RAISE DEBUG');

/** Returns the statement that recreates a trigger, whether it exists or not. */
function mended(trigger: string): string {
  const wanted = TRIGGERS.find((statement) => statement.includes(`TRIGGER ${trigger} `))!;
  return wanted.replace('CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER');
}

/** Manual changes, their reversal, and the checks that must find them. */
const HANDS: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'a balance moved without an entry',
    `UPDATE credit_account SET balance_credits = balance_credits - 1`,
    `UPDATE credit_account SET balance_credits = balance_credits + 1`,
    ['ledger-balance'],
  ],
  [
    'a refund that was never given',
    `UPDATE orders SET status = 'refunded' WHERE id = 1`,
    `UPDATE orders SET status = 'delivered' WHERE id = 1`,
    ['order-charge', 'order-events', 'order-history', 'order-legs', 'order-refunded'],
  ],
  [
    'a leg of another size than its transaction',
    `UPDATE leg SET amount_sun = amount_sun - 1000000 WHERE id = 1`,
    `UPDATE leg SET amount_sun = amount_sun + 1000000 WHERE id = 1`,
    ['open-delegations', 'order-said', 'order-stake', 'transaction-content'],
  ],
  [
    'a final transaction said to be dead without proof',
    `UPDATE chain_tx SET status = 'dead', evidence = '{"absences": "none"}' WHERE id = 1`,
    `UPDATE chain_tx SET status = 'solid', evidence = NULL WHERE id = 1`,
    ['dead-transactions', 'death-evidence', 'leg-transactions', 'open-delegations', 'order-settled'],
  ],
  [
    'a transaction recorded in another block',
    `UPDATE chain_tx SET block_id = sha256(block_id) WHERE id = 1`,
    `UPDATE chain_tx SET block_id = (SELECT b FROM kept_block) WHERE id = 1`,
    ['solid-transactions', 'transaction-shape'],
  ],
  [
    'an order that nobody will look at again',
    `UPDATE orders SET settled = false, next_run_at = NULL WHERE id = 1`,
    `UPDATE orders SET settled = true WHERE id = 1`,
    ['order-forgotten', 'order-history'],
  ],
  [
    'a settled order that the log does not say so of',
    `UPDATE event SET type = 'order.unresolved' WHERE order_id = 1 AND type = 'order.settled'`,
    `UPDATE event SET type = 'order.settled' WHERE order_id = 1 AND type = 'order.unresolved'`,
    ['event-says', 'order-events', 'order-said'],
  ],
  [
    'an order whose beginning is not in the log',
    `UPDATE event SET type = 'order.unresolved' WHERE order_id = 2 AND type = 'order.created'`,
    `UPDATE event SET type = 'order.created' WHERE order_id = 2 AND type = 'order.unresolved'`,
    ['event-says', 'order-events', 'order-said'],
  ],
  [
    'a position that no event has',
    `UPDATE event SET position = -position WHERE order_id = 1 AND type = 'order.created'`,
    `UPDATE event SET position = -position WHERE order_id = 1 AND type = 'order.created'`,
    ['event-positions', 'event-says'],
  ],
  [
    'a guard switched off',
    `ALTER TABLE credit_entry DISABLE TRIGGER credit_entry_append_only`,
    `ALTER TABLE credit_entry ENABLE TRIGGER credit_entry_append_only`,
    ['guards'],
  ],
  ['a guard that lets everything pass', PERMISSIVE_GUARD, FUNCTIONS['orders_guard']!, ['guard-definitions']],
  [
    'a guard of another function',
    `CREATE OR REPLACE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard()`,
    mended('orders_kept'),
    ['guard-definitions'],
  ],
  [
    'a guard that checks nothing',
    `CREATE OR REPLACE TRIGGER leg_guard BEFORE INSERT OR UPDATE ON leg FOR EACH ROW WHEN (false) EXECUTE FUNCTION leg_guard()`,
    mended('leg_guard'),
    ['guard-definitions'],
  ],
  [
    'a trigger with a function of the same name elsewhere',
    `CREATE SCHEMA aside;
     CREATE FUNCTION aside.orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
     CREATE OR REPLACE TRIGGER orders_guard BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION aside.orders_guard()`,
    `${mended('orders_guard')}; DROP SCHEMA aside CASCADE`,
    ['guard-definitions'],
  ],
  [
    'a unique index that referees something else',
    `DROP INDEX orders_quote; CREATE UNIQUE INDEX orders_quote ON open_orders (quote_id, id)`,
    `DROP INDEX orders_quote; CREATE UNIQUE INDEX orders_quote ON open_orders (quote_id) WHERE quote_id IS NOT NULL`,
    ['guard-definitions'],
  ],
  [
    'a debit beyond what the project may owe',
    topUpBy(-4_000_000_000_000_000n),
    topUpBy(4_000_000_000_000_000n),
    ['ledger-acts', 'ledger-shape', 'overdraft'],
  ],
  [
    'a slot that holds more than the wallet has',
    `UPDATE pool_slot SET free_sun = free_sun + 10000000000000 WHERE wallet_id = 1 AND slot_no = 1`,
    `UPDATE pool_slot SET free_sun = free_sun - 10000000000000 WHERE wallet_id = 1 AND slot_no = 1`,
    ['capacity'],
  ],
  [
    'bandwidth that nothing pays for',
    `UPDATE pool_slot SET free_transactions = free_transactions + 1000000000 WHERE wallet_id = 1 AND slot_no = 1`,
    `UPDATE pool_slot SET free_transactions = free_transactions - 1000000000 WHERE wallet_id = 1 AND slot_no = 1`,
    ['bandwidth'],
  ],
];

/** Returns a report in which every check was made: nodes may answer slowly, and an unmade check finds nothing. */
async function wholeReport(): Promise<Report> {
  const whole = async (): Promise<Report | undefined> => {
    const report = await fixture.verify();
    return report.unmade.length === 0 ? report : undefined;
  };
  return until(whole, 30_000, 'a report in which every check was made');
}

it.each(HANDS)('%s is reported', async (_what, harm, repair, names) => {
  await fixture.byHand(`CREATE TABLE IF NOT EXISTS kept_block AS SELECT block_id AS b FROM chain_tx WHERE id = 1`);
  await fixture.byHand(harm);
  try {
    expect(namesOf(await wholeReport())).toEqual(names);
  } finally {
    await fixture.byHand(repair);
  }
  expect(namesOf(await fixture.verify())).toEqual([]);
});

it('a reclaim before its rental’s end is reported once it is final, and not while its block may still be reverted', async () => {
  const id = (await fixture.rent(receiver(2), 65_000, 60)).toString();
  const over = async (): Promise<true | undefined> => {
    const [row] = await fixture.database.query<{ status: string }>(`SELECT status FROM leg WHERE order_id = ${id}`);
    return row?.status === 'reclaimed' ? true : undefined;
  };
  await until(over, 30_000, 'the reclaim');
  const reclaim = `order_id = ${id} AND purpose = 'reclaim'`;
  const early = `block_at = block_at - interval '1 hour'`;
  await fixture.byHand(`CREATE TABLE kept_reclaim AS SELECT * FROM chain_tx WHERE ${reclaim}`);
  await fixture.byHand(
    `UPDATE chain_tx SET ${early} WHERE ${reclaim}`,
    `UPDATE orders SET reclaimed_at = reclaimed_at - interval '1 hour' WHERE id = ${id}`,
  );
  try {
    expect(namesOf(await fixture.verify())).toEqual(['reclaim-early']);
    // Simulates a node that reports a false block time. The block number is too high to become final meanwhile.
    await fixture.byHand(
      `UPDATE chain_tx SET status = 'included', block_number = block_number + 1000000 WHERE ${reclaim}`,
      `UPDATE leg SET status = 'reclaiming' WHERE order_id = ${id}`,
    );
    expect(namesOf(await fixture.verify())).toEqual([]);
  } finally {
    await fixture.byHand(
      `UPDATE chain_tx t SET status = k.status, block_number = k.block_number, block_at = k.block_at FROM kept_reclaim k WHERE k.id = t.id`,
      `UPDATE leg SET status = 'reclaimed' WHERE order_id = ${id}`,
      `UPDATE orders SET reclaimed_at = reclaimed_at + interval '1 hour' WHERE id = ${id}`,
    );
  }
  expect(namesOf(await fixture.verify())).toEqual([]);
});

it('definitions are not checked on the schema of another version, where they may rightly differ', async () => {
  await fixture.byHand(`${PERMISSIVE_GUARD}; INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')`);
  try {
    const report = await fixture.verify();
    expect({ found: namesOf(report), unmade: report.unmade }).toEqual({
      found: [],
      unmade: [{ check: 'guard-definitions', why: expect.stringContaining('another version') }],
    });
  } finally {
    await fixture.byHand(`DELETE FROM migrations WHERE name = 'Later9'; ${FUNCTIONS['orders_guard']!}`);
  }
});

it('tells apart bytes that differ from their leg or expiration', () => {
  const [owner, to, other] = [newOwner().address, newOwner().address, newOwner().address];
  const terms = {
    permissionId: 2,
    reference: { number: 70_000, id: 'ab'.repeat(32), timestampMs: 0 },
    expiresAtMs: 1_760_000_060_000,
    timestampMs: 1_760_000_000_000,
  };
  const amountSun = sun(7_222_000_001n);
  const judge = new ContentJudge();
  const expiresAt = new Date(terms.expiresAtMs);
  for (const [permissionId, resource] of [
    [0, 'ENERGY'],
    [2, 'ENERGY'],
    [2, 'BANDWIDTH'],
  ] as const) {
    const action = { type: 'delegate', owner, receiver: to, amountSun, resource } as const;
    const otherResource = resource === 'ENERGY' ? 'BANDWIDTH' : 'ENERGY';
    const { rawData } = buildTransaction(action, { ...terms, permissionId });
    expect(judge.isOf(rawData, action, expiresAt)).toBe(true);
    expect(judge.isOf(rawData, { ...action, type: 'undelegate' }, expiresAt)).toBe(false);
    expect(judge.isOf(rawData, { ...action, receiver: other }, expiresAt)).toBe(false);
    expect(judge.isOf(rawData, { ...action, owner: other }, expiresAt)).toBe(false);
    expect(judge.isOf(rawData, { ...action, resource: otherResource }, expiresAt)).toBe(false);
    expect(judge.isOf(rawData, { ...action, amountSun: sun(7_222_000_000n) }, expiresAt)).toBe(false);
    expect(judge.isOf(rawData, action, new Date(terms.expiresAtMs + 1))).toBe(false);
    expect(judge.isOf(Buffer.concat([rawData, Buffer.of(0)]), { ...action, receiver: other }, expiresAt)).toBe(false);
  }
});
