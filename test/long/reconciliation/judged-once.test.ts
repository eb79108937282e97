// Final records are judged once, and later changes to them are still noticed. Records that could not be judged are
// reported.
import { sleep } from '../../../src/platform/support/clock.js';
import { until } from '../../../packages/local/src/wait.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { namesOf, ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

let fixture: ReconciliationFixture;
const receiver = (index: number): string => fixture.service.accounts[index]!.address;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
});

afterAll(() => fixture.close());

async function judged(id: bigint): Promise<boolean | undefined> {
  const [row] = await fixture.database.query<{ judged: boolean }>(`SELECT judged FROM orders WHERE id = $1`, [id]);
  return row?.judged;
}

async function newer(): Promise<string[]> {
  return namesOf(await verifyRecords(fixture.database, { depth: 'newer' }));
}

/** Makes a rental of a minute of chain time and waits until it has ended and is final. */
async function ended(index: number): Promise<bigint> {
  const id = await fixture.rent(receiver(index), 65_000, 60);
  return until(
    async () => {
      const [row] = await fixture.database.query<{ over: boolean }>(
        `SELECT bool_and(l.status = 'reclaimed') AND o.next_run_at IS NULL AS over
           FROM orders o JOIN leg l ON l.order_id = o.id WHERE o.id = $1 GROUP BY o.id, o.next_run_at`,
        [id],
      );
      return row?.over === true ? id : undefined;
    },
    60_000,
    'the end of the rental',
  );
}

it('an order at rest is judged by one pass, and every change of its row has it judged again', async () => {
  const id = await ended(0);
  expect(await judged(id)).toBe(false);
  await fixture.pass();
  expect(await judged(id)).toBe(true);
  await fixture.database.query(`UPDATE orders SET needs_attention = needs_attention WHERE id = $1`, [id]);
  expect(await judged(id)).toBe(true);
  await fixture.database.query(`UPDATE orders SET needs_attention = true WHERE id = $1`, [id]);
  expect(await judged(id)).toBe(false);
  await fixture.database.query(`UPDATE orders SET needs_attention = false, judged = true WHERE id = $1`, [id]);
  expect(await judged(id)).toBe(false);
  await fixture.pass();
  expect(await judged(id)).toBe(true);
});

it('an order that breaks a rule stays unjudged, pass after pass, until the operator has explained it', async () => {
  const id = await ended(1);
  await fixture.byHand(`UPDATE orders SET credits = credits + 1 WHERE id = ${id.toString()}`);
  for (let pass = 0; pass < 2; pass += 1) {
    await fixture.pass();
    expect(await judged(id)).toBe(false);
    expect(await fixture.metric('book_violations')).toContain('book_violations{check="order-charge"} 1');
  }
  const { code } = await fixture.cli('verify', 'explain', '--all', '--yes', '--reason', 'checked');
  expect(code).toBe(0);
  await fixture.pass();
  expect(await judged(id)).toBe(true);
  await fixture.byHand(`UPDATE orders SET credits = credits - 1 WHERE id = ${id.toString()}`);
});

it('the slow round over judged orders finds a change past every guard, and stays there', async () => {
  const id = await ended(2);
  await fixture.pass();
  expect(await judged(id)).toBe(true);
  await fixture.byHand(`UPDATE chain_tx SET raw_data = 'x' WHERE order_id = ${id.toString()} AND purpose = 'reclaim'`);
  expect(await judged(id)).toBe(true);
  for (let look = 0; look < 2; look += 1) {
    expect(await newer()).toEqual(['transaction-content', 'transaction-id']);
    await fixture.pass();
  }
  const { code, err } = await fixture.cli('verify', '--full', '--no-chain', '--json');
  expect({ code, steps: err.split('\n').filter((line) => /^\d+ of \d+, \d+ s: /.test(line)).length > 20 }).toEqual({
    code: 1,
    steps: true,
  });
  await fixture.cli('verify', 'explain', '--all', '--yes', '--reason', 'a test made it');
});

it.each([
  ['a final transaction', `UPDATE chain_tx SET block_number = block_number + 1 WHERE status = 'solid'`],
  ['a leg that ended', `UPDATE leg SET amount_sun = amount_sun + 1 WHERE status = 'reclaimed'`],
])('the database refuses to change %s', async (_what, change) => {
  await expect(fixture.database.query(change)).rejects.toThrow('never changed');
});

it('entries of the ledger are judged once by the thousand, and one that was changed later is found', async () => {
  const [project] = await fixture.database.query<{ id: string }>(`SELECT id FROM project LIMIT 1`);
  await fixture.byHand(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
     SELECT 'topup:old-' || g, '${project!.id}', 'funding', 'topup', 10, 'a', 'b', now() - interval '1 day' FROM generate_series(1, 3000) g`,
    `UPDATE credit_account SET balance_credits = balance_credits + 30000 WHERE project_id = '${project!.id}'`,
    `UPDATE credit_entry SET created_at = now() - interval '1 day'`,
  );
  await fixture.pass();
  const [kept] = await fixture.database.query<{ entries_to: bigint; ranges: bigint }>(
    `SELECT entries_to, (SELECT count(*) FROM judged_entries) AS ranges FROM reconcile_state`,
  );
  expect(kept).toEqual({ entries_to: 3000n, ranges: 3n });
  expect(await newer()).toEqual([]);
  const alter = (by: number) => [
    `UPDATE credit_entry SET credits = credits + ${by.toString()} WHERE entry_key = 'topup:old-500'`,
    `UPDATE credit_account SET balance_credits = balance_credits + ${by.toString()} WHERE project_id = '${project!.id}'`,
  ];
  await fixture.byHand(...alter(5));
  expect(await newer()).toEqual(['ledger-kept']);
  await fixture.byHand(alter(-5)[1]!);
  expect(await newer()).toEqual(['ledger-balance', 'ledger-kept']);
  await fixture.byHand(alter(-5)[0]!);
  expect(await newer()).toEqual([]);
  await fixture.byHand(`UPDATE judged_credits SET credits = credits + 1`);
  expect(await newer()).toEqual([]);
  await fixture.pass();
  await fixture.pass();
  const [anew] = await fixture.database.query(`SELECT entries_to FROM reconcile_state`);
  expect(anew).toEqual({ entries_to: 3000n });
});

it('a pass that could not make every check is reported, and does not count for the age of the last pass', async () => {
  await fixture.pass();
  expect(await fixture.metric('checks_not_made')).toEqual([]);
  const age = async (): Promise<number> =>
    Number((await fixture.metric('reconcile_age_seconds')).join().split(' ').at(-1));
  const before = await age();
  await sleep(20);
  // A check that hits its time limit fails the same way.
  await fixture.byHand(`ALTER TABLE event RENAME TO event_away`);
  try {
    await fixture.pass();
  } finally {
    await fixture.byHand(`ALTER TABLE event_away RENAME TO event`);
  }
  expect(await fixture.metric('checks_not_made')).toContain('checks_not_made{check="order-history"} 1');
  expect(await age()).toBeGreaterThan(before);
  await fixture.pass();
  expect(await fixture.metric('checks_not_made')).toEqual([]);
});
