import type { INestApplicationContext } from '@nestjs/common';
import { jest } from '@jest/globals';
import { JudgedRecords } from '../../../src/modules/reconciliation/judged-records.js';
import { Reconciler } from '../../../src/modules/reconciliation/reconciler.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { until } from '../../../packages/local/src/wait.js';
import { ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

/** A slow machine needs seconds for the records too. */
const LIMIT_MS = 60_000;

let fixture: ReconciliationFixture;
let other: INestApplicationContext;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open({ RECONCILE_SEC: '1' });
  other = await fixture.openWorker();
});

afterAll(async () => {
  await other.close();
  await fixture.close();
});

interface Turn {
  readonly fence: number;
  readonly isHeld: boolean | null;
  readonly passed_at: string | null;
}

async function turn(): Promise<Turn> {
  const [row] = await fixture.database.query<Turn>(
    `SELECT fence, lease_until > clock_timestamp() AS "isHeld", passed_at::text FROM reconcile_state`,
  );
  return row!;
}

/** Runs a pass of `worker` that stops after judging the records until `goOn` is called. */
async function heldPass(worker: INestApplicationContext): Promise<{ readonly goOn: () => Promise<void> }> {
  const records = worker.get(JudgedRecords);
  const keep = records.storeJudged.bind(records);
  let open = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  let pass = Promise.resolve();
  await new Promise<void>((hasJudged, reject) => {
    jest.spyOn(records, 'storeJudged').mockImplementationOnce(async (fence, report) => {
      hasJudged();
      await isOpen;
      await keep(fence, report);
    });
    pass = fixture.pass(worker);
    pass.catch(reject);
  });
  return {
    goOn: async () => {
      open();
      await pass;
    },
  };
}

it('a pass that waited for slow nodes is followed by the next one without an extra rest', async () => {
  const passedAt = async (): Promise<string> => {
    const [row] = await fixture.database.query<{ at: string }>(`SELECT passed_at::text AS at FROM reconcile_state`);
    return row!.at;
  };
  // The requests that compare records with the chain, and no other part of a pass.
  const held = ['getaccount', 'getdelegatedresourceaccountindexv2'];
  const slow = await fixture.faults(
    held.map((path) => ({ kind: 'slow', ms: 3500, path: `walletsolidity/${path}`, rate: 1 })),
  );
  const startedMs = performance.now();
  await fixture.pass();
  // A rest of ten times the duration would exceed the limit.
  expect(performance.now() - startedMs).toBeGreaterThan(LIMIT_MS / 10);
  for (const each of slow) await fixture.clearFault(each);
  const first = await passedAt();
  const next = async (): Promise<true | undefined> => {
    await fixture.look();
    return (await passedAt()) === first ? undefined : true;
  };
  await until(next, LIMIT_MS, 'the next pass');
});

it('a foreign act is matched with its rental while the next pass waits after a slow one', async () => {
  const receiver = fixture.service.accounts[1]!.address;
  const order = await fixture.rent(receiver, 65_000, 3600);
  const [leg] = await fixture.database.query<{ wallet: string; sun: bigint }>(
    `SELECT w.address AS wallet, l.amount_sun AS sun FROM leg l JOIN pool_wallet w ON w.id = l.wallet_id
      WHERE l.order_id = $1`,
    [order],
  );
  let pass = Promise.resolve();
  await fixture.database.transaction(async (tx) => {
    // Only judging the records reads it: the rest is ten times as long as the wait.
    await tx.query('LOCK TABLE credit_entry IN ACCESS EXCLUSIVE MODE');
    pass = fixture.pass();
    await sleep(6000);
  });
  await pass;
  const { passed_at: passedAt } = await turn();
  await fixture.undelegateForeign(leg!.wallet, receiver, Number(leg!.sun));
  const isMatched = async (): Promise<true | undefined> => {
    await fixture.look();
    const [row] = await fixture.database.query<{ isMatched: boolean }>(
      `SELECT reclaimed_at IS NOT NULL AS "isMatched" FROM orders WHERE id = $1`,
      [order],
    );
    return row!.isMatched || undefined;
  };
  await until(isMatched, LIMIT_MS, 'the act being matched');
  expect((await turn()).passed_at).toBe(passedAt);
});

it('a pass that outlasts its lease keeps its turn, and its findings stay visible', async () => {
  await fixture.delegateForeign(1, fixture.service.accounts[2]!.address, 1000);
  const pass = await heldPass(fixture.worker);
  const { fence } = await turn();
  await fixture.database.query(`UPDATE reconcile_state SET lease_until = clock_timestamp()`);
  await until(async () => ((await turn()).isHeld === true ? true : undefined), LIMIT_MS, 'the renewal of the lease');
  await other.get(Reconciler).reconcile();
  expect(await turn()).toMatchObject({ fence, passed_at: null });
  await pass.goOn();
  expect(await turn()).toMatchObject({ fence, isHeld: null, passed_at: expect.any(String) });
  expect(await fixture.metric('orphan_chain_tx')).toEqual(['orphan_chain_tx 1']);
});

it('a pass whose turn another worker took counts for nothing, and is not shown as made', async () => {
  const pass = await heldPass(other);
  await fixture.database.query(`UPDATE reconcile_state SET lease_until = NULL`);
  await fixture.look();
  const taken = await turn();
  expect(taken.passed_at).not.toBeNull();
  await pass.goOn();
  expect(await turn()).toEqual(taken);
  expect(await fixture.metric('reconcile_age_seconds', other)).toEqual(['reconcile_age_seconds +Inf']);
});

it('a failed pass is not shown as made, its process rests, and another worker makes the next one', async () => {
  const failing = await fixture.openWorker({ RECONCILE_SEC: '300' });
  const refuse = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE OF orders_after ON reconcile_state EXECUTE FUNCTION refuse()`;
  await fixture.byHand(refuse);
  try {
    await expect(fixture.pass(failing)).rejects.toThrow('refused');
    const failed = await turn();
    expect(failed).toMatchObject({ isHeld: null, passed_at: null });
    expect(await fixture.metric('reconcile_age_seconds', failing)).toEqual(['reconcile_age_seconds +Inf']);
    await failing.get(Reconciler).reconcile();
    expect(await turn()).toEqual(failed);
  } finally {
    await fixture.byHand(`DROP FUNCTION refuse CASCADE`);
    await failing.close();
  }
  await other.get(Reconciler).reconcile();
  expect((await turn()).passed_at).not.toBeNull();
});
