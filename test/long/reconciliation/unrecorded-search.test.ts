// The search of solid blocks for unrecorded acts of our wallets.
import { UnrecordedSearch } from '../../../src/modules/reconciliation/unrecorded-search.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { until } from '../../../packages/local/src/wait.js';
import { ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

let fixture: ReconciliationFixture;
const receiver = (index: number): string => fixture.service.accounts[index]!.address;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
});

afterAll(() => fixture.close());

it('records an act together with the search’s move past its block, or neither', async () => {
  await fixture.pass();
  const txid = await fixture.delegateForeign(1, receiver(2), 300);
  const state = async () => {
    const [row] = await fixture.database.query<{ kept: number; to: bigint; at: bigint | null }>(
      `SELECT (SELECT count(*)::integer FROM orphan_tx WHERE txid = decode($1, 'hex')) AS kept, scanned_to AS to,
          (SELECT block_number FROM orphan_tx WHERE txid = decode($1, 'hex')) AS at FROM reconcile_state`,
      [txid],
    );
    return row!;
  };
  const dying = await fixture.openWorker();
  let isKept = false;
  aroundStatements(dying.get(Database), ['keep_orphan'], { before: () => (isKept = true) });
  aroundStatements(dying.get(Database), ['move_search'], {
    before: () => {
      if (isKept) throw new Error('dies here');
    },
  });
  await expect(fixture.search(dying)).rejects.toThrow('dies here');
  const left = await state();
  expect(left.kept).toBe(0);
  await dying.close();
  await fixture.pass();
  const found = await state();
  expect(found.kept).toBe(1);
  expect(left.to).toBeLessThan(found.at!);
  await until(
    async () => {
      const open = await fixture.database.query(
        `SELECT FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key LIKE 'orphan:%' AND l.status <> 'reclaimed'`,
      );
      return open.length === 0 ? true : undefined;
    },
    20_000,
    'the reclaim of the orphan',
  );
  await fixture.explainAll();
  await fixture.expectAgreement(receiver(0));
});

it('repeats a search that no node answered at the next check', async () => {
  const searched = async () => {
    const [row] = await fixture.database.query<{ to: bigint; passed_at: Date }>(
      `SELECT scanned_to AS to, passed_at FROM reconcile_state`,
    );
    return row!;
  };
  const [rule] = await fixture.faults([{ kind: 'error-before', status: 500, path: 'walletsolidity/*', rate: 1 }]);
  // A head requested before the fault may still arrive. Then that pass has searched.
  const isUnsearched = async (): Promise<true | undefined> => {
    await fixture.pass();
    return (await fixture.metric('checks_not_made')).some((line) => line.includes('"orphan-search"'))
      ? true
      : undefined;
  };
  try {
    await until(isUnsearched, 20_000, 'a pass that could not search');
  } finally {
    await fixture.clearFault(rule);
  }
  const before = await searched();
  const goesOn = async (): Promise<true | undefined> => {
    await fixture.look();
    return (await searched()).to > before.to ? true : undefined;
  };
  await until(goesOn, 20_000, 'the search going on');
  expect((await searched()).passed_at).toEqual(before.passed_at);
});

it('a search by one server’s records moves no search on another one', async () => {
  await fixture.pass();
  const searched = async () => {
    const [row] = await fixture.database.query<{ to: bigint }>(`SELECT scanned_to AS to FROM reconcile_state`);
    return row!.to;
  };
  const worker = await fixture.openWorker();
  const database = worker.get(Database);
  const transaction: Database['transaction'] = database.transaction.bind(database);
  // A failover between reading the records and moving the cursor: from then on every session reads another server mark.
  database.transaction = async (work) => {
    await fixture.byHand(
      `CREATE OR REPLACE FUNCTION server_mark() RETURNS text LANGUAGE sql STABLE AS 'SELECT ''another server'''`,
    );
    return transaction(work);
  };
  const before = await searched();
  await expect(worker.get(UnrecordedSearch, { strict: false }).searchNext(true)).resolves.toBeUndefined();
  expect(await searched()).toEqual(before);
  await worker.close();
});
