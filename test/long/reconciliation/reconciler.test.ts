// Records and chain made to disagree in every relevant way: found, named and contained within one pass.
import { sleep } from '../../../src/platform/support/clock.js';
import { StartupGate } from '../../../src/modules/fulfilment/loop/startup-gate.js';
import { Database } from '../../../src/platform/database/database.js';
import { until } from '../../../packages/local/src/wait.js';
import { namesOf, ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

const DAY_SEC = 86_400;

let fixture: ReconciliationFixture;
const receiver = (index: number): string => fixture.service.accounts[index]!.address;
const addressOf = (index: number): string => fixture.service.poolWallets[index]!.address;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
  // A day of chain time, so that no rental ends during these tests on a slow machine.
  for (const index of [0, 1, 2]) await fixture.rent(receiver(index), 65_000, DAY_SEC);
});

afterAll(() => fixture.close());

it('holds nothing while records and chain agree', async () => {
  await fixture.expectAgreement(receiver(0));
  expect(await fixture.metric('delegation_mismatch')).toEqual(['delegation_mismatch 0']);
});

it('a delegation by a wallet’s owner stops only that wallet, and is reclaimed', async () => {
  await fixture.delegateForeign(1, receiver(2), 1000);
  const before = await fixture.delegatedSun(1, receiver(2));
  await fixture.pass();
  const wallets = await fixture.wallets();
  expect(wallets.filter(({ status }) => status === 'paused').map(({ address }) => address)).toEqual([addressOf(1)]);
  expect((await fixture.wallet(addressOf(1))).pause_reason).toMatch(/^auto: (orphan-transactions|open-delegations): /);
  expect(await fixture.metric('orphan_chain_tx')).toEqual(['orphan_chain_tx 1']);
  expect((await fixture.buy(receiver(0))).status).toBe(202);
  await until(
    async () => ((await fixture.delegatedSun(1, receiver(2))) === before - 1_000_000_000 ? true : undefined),
    20_000,
    'taking the orphan back',
  );
  await fixture.pass();
  expect((await fixture.wallet(addressOf(1))).pause_reason).toMatch(/orphan-transactions/);
  await fixture.explainAll();
  await fixture.expectAgreement(receiver(0));
});

it('stops showing a pass’s findings once another worker has made a newer one', async () => {
  await fixture.byHand(`UPDATE credit_account SET balance_credits = balance_credits + 1`);
  await fixture.pass();
  const found = async () => (await fixture.metric('book_violations')).filter((line) => !line.endsWith(' 0'));
  expect(await found()).not.toEqual([]);
  expect(await fixture.metric('ledger_drift_credits')).not.toEqual(['ledger_drift_credits 0']);
  await fixture.look();
  expect(await found()).not.toEqual([]);
  await fixture.byHand(
    `UPDATE credit_account SET balance_credits = balance_credits - 1`,
    `UPDATE reconcile_state SET passed_at = clock_timestamp()`,
  );
  await fixture.look();
  expect(await found()).toEqual([]);
  expect(await fixture.metric('ledger_drift_credits')).toEqual(['ledger_drift_credits 0']);
  await fixture.explainAll();
  await fixture.pass();
  expect((await fixture.wallets()).map(({ status }) => status)).toEqual(Array(4).fill('active'));
});

it('a worker that lost its turn meanwhile frees no wallet, and stops nothing', async () => {
  const worker = await fixture.openWorker();
  const database = worker.get(Database);
  const query: Database['query'] = database.query.bind(database);
  database.query = async (statement, params) => {
    if (typeof statement !== 'string' && statement.name === 'hold_wallets') {
      await fixture.byHand(
        `UPDATE reconcile_state SET fence = fence + 1`,
        `UPDATE pool_wallet SET books_fault = 'found by the one that has it' WHERE address = '${addressOf(1)}'`,
      );
    }
    return query(statement, params);
  };
  await fixture.pass(worker);
  const [held] = await fixture.database.query<{ address: string; books_fault: string }>(
    `SELECT address, books_fault FROM pool_wallet WHERE books_fault IS NOT NULL`,
  );
  expect(held).toEqual({ address: addressOf(1), books_fault: 'found by the one that has it' });
  await worker.close();
  await fixture.byHand(`UPDATE pool_wallet SET books_fault = NULL`);
  await fixture.pass();
  expect((await fixture.wallets()).map(({ status }) => status)).toEqual(Array(4).fill('active'));
});

it('reclaims an orphan once, and never more of it than exists', async () => {
  const txid = await fixture.delegateForeign(1, receiver(1), 500);
  await fixture.pass();
  await fixture.pass();
  await until(
    async () => {
      const [row] = await fixture.database.query<{ status: string }>(
        `SELECT l.status FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1`,
        [`orphan:${txid}`],
      );
      return row?.status === 'reclaimed' ? true : undefined;
    },
    20_000,
    'the end of the recovery',
  );
  const reclaims = await fixture.database.query(
    `SELECT t.id FROM chain_tx t JOIN orders o ON o.id = t.order_id WHERE o.key = $1 AND t.purpose = 'reclaim' AND t.status = 'solid'`,
    [`orphan:${txid}`],
  );
  expect(reclaims).toHaveLength(1);
  await fixture.explainAll();
  await fixture.expectAgreement(receiver(0));
});

it('an unrecorded act with the service’s own key stops every sale until the operator explains it', async () => {
  await fixture.delegateForeign(0, receiver(1), 700, true);
  await fixture.pass();
  expect((await fixture.wallets()).map(({ status }) => status)).toEqual(Array(4).fill('paused'));
  expect((await fixture.buy(receiver(0))).status).toBe(503);
  await until(
    async () => {
      const open = await fixture.database.query(
        `SELECT FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key LIKE 'orphan:%' AND l.status <> 'reclaimed'`,
      );
      return open.length === 0 ? true : undefined;
    },
    20_000,
    'taking the orphan back',
  );
  await fixture.pass();
  expect((await fixture.buy(receiver(0))).status).toBe(503);
  await fixture.explainAll();
  await fixture.expectAgreement(receiver(0));
});

it('a manually altered ledger row stops every sale, even after a correction, until the operator explains it', async () => {
  const alter = (by: number) =>
    `UPDATE credit_entry SET credits = credits + ${by.toString()} WHERE id = (SELECT min(id) FROM credit_entry WHERE kind = 'topup')`;
  await fixture.byHand(alter(7));
  const found = await fixture.cli('verify', '--no-chain', '--json');
  expect(found.code).toBe(1);
  expect(found.json()).toMatchObject({ ok: false, violations: 1 });
  await fixture.pass();
  expect(await fixture.metric('ledger_drift_credits')).toEqual(['ledger_drift_credits 7']);
  expect((await fixture.wallet(addressOf(0))).pause_reason).toMatch(/ledger-balance/);
  expect((await fixture.buy(receiver(0))).status).toBe(503);
  await fixture.byHand(alter(-7));
  await fixture.pass();
  expect((await fixture.buy(receiver(0))).status).toBe(503);
  await fixture.explainAll();
  await fixture.expectAgreement(receiver(0));
});

it('finds a charge that was altered together with its balance', async () => {
  const alter = (by: number) => [
    `UPDATE credit_entry SET credits = credits + ${by.toString()} WHERE id = (SELECT min(id) FROM credit_entry WHERE kind = 'charge')`,
    `UPDATE credit_account SET balance_credits = balance_credits + ${by.toString()}`,
  ];
  await fixture.byHand(...alter(3));
  expect(namesOf(await fixture.verify())).toEqual(['order-charge']);
  await fixture.byHand(...alter(-3));
});

it('finds a manually deleted leg by its transaction, its order and the chain', async () => {
  await fixture.byHand(
    `CREATE TABLE put_aside AS SELECT * FROM leg WHERE status = 'active' ORDER BY id LIMIT 1`,
    `DELETE FROM leg WHERE id IN (SELECT id FROM put_aside)`,
  );
  expect(namesOf(await fixture.verify())).toEqual(['open-delegations', 'order-legs', 'order-stake', 'orphan-rows']);
  await fixture.pass();
  expect((await fixture.buy(receiver(0))).status).toBe(503);
  await fixture.byHand(`INSERT INTO leg OVERRIDING SYSTEM VALUE SELECT * FROM put_aside`, `DROP TABLE put_aside`);
  await fixture.explainAll();
  await fixture.expectAgreement(receiver(0));
});

it('a key that may do more than its role stops its wallet until it may not', async () => {
  const wallet = fixture.service.poolWallets[2]!;
  const permit = async (operations: string) => {
    const key = (address: string) => [{ address, weight: 1 }];
    const txid = await fixture.service.wallet.send(
      'accountpermissionupdate',
      {
        owner_address: wallet.address,
        owner: { type: 0, permission_name: 'owner', threshold: 1, keys: key(wallet.address) },
        actives: [{ type: 2, permission_name: 'rental', threshold: 1, operations, keys: key(wallet.hotKey.address) }],
      },
      wallet,
    );
    await fixture.service.wallet.receipt(txid);
  };
  await permit(`0200000000000006${'0'.repeat(48)}`);
  await fixture.syncAll();
  expect((await fixture.wallet(wallet.address)).pause_reason).toMatch(/^auto: the wallet also allows Transfer/);
  await permit(`0000000000000006${'0'.repeat(48)}`);
  await fixture.expectAgreement(receiver(0));
});

it('detects a backup from before some orders, and sells nothing until the operator explains', async () => {
  const id = (await fixture.rent(receiver(2), 65_000, DAY_SEC)).toString();
  await fixture.byHand(
    `UPDATE credit_account a SET balance_credits = a.balance_credits - e.credits FROM credit_entry e
      WHERE e.order_id = ${id} AND a.project_id = e.project_id`,
    `DELETE FROM credit_entry WHERE order_id = ${id}`,
    `DELETE FROM broadcast WHERE chain_tx_id IN (SELECT id FROM chain_tx WHERE order_id = ${id})`,
    ...['chain_tx', 'leg', 'event'].map((table) => `DELETE FROM ${table} WHERE order_id = ${id}`),
    `DELETE FROM orders WHERE id = ${id}; UPDATE reconcile_state SET scanned_to = scanned_to - 300, fence = fence + 1`,
  );
  await fixture.pass();
  expect((await fixture.wallet(addressOf(0))).pause_reason).toMatch(/orphan-transactions/);
  expect((await fixture.buy(receiver(0))).status).toBe(503);
  await until(
    async () =>
      (await fixture.verify()).checks.every((check) => check.check !== 'open-delegations' || check.count === 0)
        ? true
        : undefined,
    20_000,
    'reclaiming what the backup did not know',
  );
  await fixture.explainAll();
  await fixture.expectAgreement(receiver(0));
});

/**
 * Restores an order as a backup from directly after its sale holds it: charged and reserved, nothing sent. Its claim is
 * void, because no worker outlives a restore. It waits no longer than the product ever does: otherwise a wake-up would
 * claim it.
 */
async function forgetDelivery(id: string, recordKept: 'none' | 'signed'): Promise<void> {
  await fixture.byHand(
    `DELETE FROM broadcast WHERE chain_tx_id IN (SELECT id FROM chain_tx WHERE order_id = ${id})`,
    recordKept === 'none'
      ? `DELETE FROM chain_tx WHERE order_id = ${id}`
      : `UPDATE chain_tx SET status = 'signed', sends = 0, sent_at = NULL, block_number = NULL, block_id = NULL, block_at = NULL
          WHERE order_id = ${id}`,
    `UPDATE leg SET status = 'reserved', active_at = NULL, energy = NULL, changed_at = changed_at - interval '1 day'
      WHERE order_id = ${id}`,
    `DELETE FROM event WHERE order_id = ${id} AND type IS DISTINCT FROM 'order.created'`,
    `UPDATE orders SET status = 'reserved', settled = false, delivered_at = NULL, ends_at = NULL, delivered_energy = NULL,
        reclaimed_at = NULL, placed_at = NULL, lease_until = NULL, fence = fence + 1, next_run_at = clock_timestamp() + interval '1 minute'
      WHERE id = ${id}`,
    `UPDATE reconcile_state SET scanned_to = scanned_to - 300, fence = fence + 1`,
  );
}

/** Returns the sun delegated to the address, by wallet. */
async function delegatedToBy(address: string): Promise<readonly number[]> {
  return Promise.all([0, 1, 2].map((index) => fixture.delegatedSun(index, address)));
}

async function chainTxsOf(id: string): Promise<readonly { purpose: string; status: string; attempt: number }[]> {
  return fixture.database.query(
    `SELECT purpose, status, attempt FROM chain_tx WHERE order_id = ${id} AND status <> 'dropped' ORDER BY id`,
  );
}

it.each(['none', 'signed'] as const)(
  'recognises on chain an order that a backup has as waiting, and neither delivers nor refunds it again (record: %s)',
  async (recordKept) => {
    const id = (await fixture.rent(receiver(2), 66_000, DAY_SEC)).toString();
    const stands = await delegatedToBy(receiver(2));
    await forgetDelivery(id, recordKept);
    await until(
      async () => {
        // Repeats a pass that a slow node aborted.
        await fixture.pass();
        const [row] = await fixture.database.query<{ settled: boolean }>(`SELECT settled FROM orders WHERE id = ${id}`);
        return row?.settled === true ? true : undefined;
      },
      20_000,
      'the delivery being remembered',
    );
    expect(await chainTxsOf(id)).toEqual([{ purpose: 'delegate', status: 'solid', attempt: 1 }]);
    expect(await delegatedToBy(receiver(2))).toEqual(stands);
    await fixture.expectAgreement(receiver(0));
  },
);

it('recognises a reclaim that a backup lacks, with its delivery, and takes nothing from a sibling', async () => {
  const receives = receiver(1);
  const id = (await fixture.rent(receives, 67_000, 60)).toString();
  const sibling = (await fixture.rent(receives, 67_000, 86_400)).toString();
  await until(
    async () => {
      const [row] = await fixture.database.query<{ done: boolean }>(
        `SELECT bool_and(status = 'reclaimed') AS done FROM leg WHERE order_id = ${id}`,
      );
      return row?.done === true ? true : undefined;
    },
    20_000,
    'the end of the rental',
  );
  const stands = await delegatedToBy(receives);
  await forgetDelivery(id, 'none');
  await until(
    async () => {
      await fixture.pass();
      const [row] = await fixture.database.query<{ status: string }>(`SELECT status FROM leg WHERE order_id = ${id}`);
      return row?.status === 'reclaimed' ? true : undefined;
    },
    20_000,
    'the return being remembered',
  );
  expect(await chainTxsOf(id)).toMatchObject([{ purpose: 'delegate' }, { purpose: 'reclaim' }]);
  expect(await delegatedToBy(receives)).toEqual(stands);
  expect(await chainTxsOf(sibling)).toMatchObject([{ purpose: 'delegate', status: 'solid' }]);
  await fixture.expectAgreement(receiver(0));
});

it('fulfils nothing after a long absence before the chain is searched, and immediately after a short one', async () => {
  const past = fixture.worker.get(StartupGate);
  const { signal } = new AbortController();
  await fixture.pass();
  await past.wait(signal);
  await fixture.byHand(
    `UPDATE reconcile_state SET scanned_to = scanned_to - 100, fence = fence + 1, searched_at = searched_at - interval '11 minutes'`,
  );
  let isKnown = false;
  const known = past.wait(signal).then(() => (isKnown = true));
  await sleep(1500);
  expect(isKnown).toBe(false);
  await fixture.pass();
  await known;
});

it('fulfils nothing on another server, or from restored data, before the chain is searched', async () => {
  await fixture.pass();
  await fixture.database.query(`UPDATE reconcile_state SET server_mark = 'another'`);
  const { key } = await fixture.buy(receiver(0));
  const claims = async () =>
    fixture.database.query<{ fence: number; searching: boolean }>(
      `SELECT o.fence, r.search_until IS NOT NULL AS searching FROM orders o, reconcile_state r WHERE o.key = '${key}'`,
    );
  await until(
    async () => ((await claims())[0]?.searching === true ? true : undefined),
    20_000,
    'the other server being noticed',
  );
  expect(await claims()).toEqual([{ fence: 0, searching: true }]);
  const passed = async () => fixture.database.query(`SELECT passed_at FROM reconcile_state`);
  const before = await passed();
  // The search must reach the last block that may still include a transaction: a minute of chain time, which is fast
  // here. It neither waits for a due pass nor makes one.
  await until(
    async () => {
      await fixture.look();
      const [row] = await fixture.database.query<{ settled: boolean }>(
        `SELECT settled FROM orders WHERE key = '${key}'`,
      );
      return row?.settled === true ? true : undefined;
    },
    30_000,
    'the order being delivered after the search',
  );
  expect(await passed()).toEqual(before);
});

it('holds an order found in another server’s past no longer than the search', async () => {
  const id = (await fixture.rent(receiver(2), 10_000)).toString();
  await fixture.pass();
  await fixture.database.query(`UPDATE reconcile_state SET server_mark = 'another'`);
  await forgetDelivery(id, 'none');
  const seen = async () => {
    const [row] = await fixture.database.query<{ settled: boolean; held: boolean; searching: boolean }>(
      `SELECT o.settled, o.lease_until IS NOT NULL AS held, r.server_mark = 'another' AS searching
         FROM orders o, reconcile_state r WHERE o.id = ${id}`,
    );
    return row!;
  };
  const isOver = async (): Promise<true | undefined> => {
    await fixture.look();
    return (await seen()).searching ? undefined : true;
  };
  await until(isOver, 30_000, 'the end of the search');
  expect(await seen()).toMatchObject({ settled: true, held: false });
  expect(await chainTxsOf(id)).toEqual([{ purpose: 'delegate', status: 'solid', attempt: 1 }]);
});

it('dropped bytes that are in a block are an unrecorded act, and reclaimed', async () => {
  const id = (await fixture.rent(receiver(1), 65_000)).toString();
  // One for each leg.
  const sent = await fixture.database.query<{ txid: string }>(
    `SELECT encode(txid, 'hex') AS txid FROM chain_tx WHERE order_id = ${id}`,
  );
  await forgetDelivery(id, 'signed');
  await fixture.byHand(
    `UPDATE chain_tx SET status = 'dropped' WHERE order_id = ${id}; UPDATE leg SET status = 'released' WHERE order_id = ${id}`,
    `UPDATE orders SET status = 'refunded', settled = true, next_run_at = NULL WHERE id = ${id}`,
    `INSERT INTO event (order_id, from_status, to_status) VALUES (${id}, 'reserved', 'refunded')`,
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
       SELECT 'refund:${id}', project_id, contra, 'refund', -credits, order_id FROM credit_entry WHERE entry_key = 'charge:${id}'`,
    `UPDATE credit_account a SET balance_credits = a.balance_credits + e.credits FROM credit_entry e
      WHERE e.entry_key = 'refund:${id}' AND a.project_id = e.project_id`,
  );
  await fixture.pass();
  expect(await fixture.metric('orphan_chain_tx')).toEqual([`orphan_chain_tx ${sent.length.toString()}`]);
  await until(
    async () => {
      await fixture.pass();
      const back = await fixture.database.query(
        `SELECT FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = ANY ($1::text[]) AND l.status = 'reclaimed'`,
        [sent.map(({ txid }) => `orphan:${txid}`)],
      );
      return back.length === sent.length ? true : undefined;
    },
    30_000,
    'reclaiming what was dropped and sent',
  );
  await fixture.explainAll();
});

it('a wallet without bandwidth and TRX stops selling', async () => {
  const wallet = fixture.service.poolWallets[2]!;
  const send = async (path: string, body: object) => {
    const txid = await fixture.service.wallet.send(path, { owner_address: wallet.address, ...body }, wallet);
    await fixture.service.wallet.receipt(txid);
  };
  await send('unfreezebalancev2', { unfreeze_balance: 200_000_000_000, resource: 'BANDWIDTH' });
  // Uses up the account's small free bandwidth first.
  for (const amount of [1, 2, 3]) await send('createtransaction', { to_address: fixture.service.bank.address, amount });
  const asked = { address: wallet.address, visible: true };
  const { balance } = (await fixture.service.wallet.post('wallet/getaccount', asked)) as { balance: number };
  await send('createtransaction', { to_address: fixture.service.bank.address, amount: balance - 1_000_000 });
  await fixture.syncAll();
  expect((await fixture.wallet(wallet.address)).pause_reason).toBe('auto: neither bandwidth nor TRX to burn for it');
});
