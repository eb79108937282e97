// The balances of deposit addresses equal their recorded movements, and missed payments are found. Sweeps and returns
// use transactions that are signed elsewhere.
import 'reflect-metadata';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { DepositReturns } from '../../../src/modules/deposits/deposit-returns.js';
import { Rescan } from '../../../src/modules/deposits/rescan.js';
import { Sweeps } from '../../../src/modules/deposits/sweeps.js';
import { credits } from '../../../src/domain/units.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { until } from '../../../packages/local/src/wait.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  START_LIMIT_MS,
  type DepositProject,
  calm,
  closeFixture,
  commandLine,
  creditedTo,
  database,
  depositsOf,
  follow,
  hideLast,
  idOf,
  idsOf,
  inTerminal,
  meddle,
  mine,
  openFixture,
  operator,
  otherToken,
  payToken,
  payTrx,
  payer,
  rates,
  sendFrom,
  settle,
  newDepositProject,
  signAndSend,
  solid,
  spies,
  unexplained,
  wallet,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

/** Expires the newest transaction of a return, by the chain's time. */
const expire = async (id: bigint): Promise<void> => {
  await database.query(`UPDATE deposit_return SET expires_at = '2000-01-01' WHERE deposit_id = $1`, [id]);
};

const movementsOf = ({ address }: DepositProject) =>
  database.query<{ kind: string; asset: string; amount: string }>(
    `SELECT kind, asset, amount::text FROM deposit_movement WHERE address = $1 ORDER BY block_number, kind`,
    [address],
  );

describe('a sweep', () => {
  it('is signed elsewhere, and its transfers and fees explain the rest', async () => {
    const [to, empty] = [await newDepositProject(), await newDepositProject()];
    const treasury = newChainAccount();
    await payTrx(to, 50_000_000);
    await payToken(to, 20_000_000n);
    await settle();
    expect(await unexplained()).toEqual([]);
    const options = { to: treasury.address, keepSun: 30_000_000n, limit: 10 };
    const { transactions: plan } = await operator.get(Sweeps).plan(options, AUTHOR);
    const mineOf = plan.filter(({ from }) => from === to.address);
    expect(mineOf).toMatchObject([
      { asset: 'USDT', amount: 19_999_999n, to: treasury.address },
      { asset: 'TRX', amount: 20_000_000n, to: treasury.address },
    ]);
    expect(plan.filter(({ from }) => from === empty.address)).toEqual([]);
    for (const planned of mineOf) {
      await signAndSend(planned);
      await mine(1);
    }
    await settle();
    expect(await unexplained()).toEqual([]);
    const moved = await movementsOf(to);
    expect(moved).toEqual(
      expect.arrayContaining([
        { kind: 'log', asset: 'USDT', amount: '-19999999' },
        { kind: 'native', asset: 'TRX', amount: '-20000000' },
        { kind: 'fee', asset: 'TRX', amount: expect.stringMatching(/^-\d+$/) },
      ]),
    );
    // A payment from the sweep's receiver is no deposit.
    const credited = await creditedTo(to);
    await wallet().send(
      'createtransaction',
      { owner_address: treasury.address, to_address: to.address, amount: 11_000_000 },
      treasury,
    );
    await settle();
    expect(await unexplained()).toEqual([]);
    expect(await creditedTo(to)).toBe(credited);
    expect(await depositsOf(to)).toHaveLength(2);
    expect(await movementsOf(to)).toContainEqual({ kind: 'native', asset: 'TRX', amount: '11000000' });
  });

  it('goes to no deposit address, and a transfer between two of them is no project’s deposit', async () => {
    const [one, other] = [await newDepositProject(), await newDepositProject()];
    await expect(operator.get(Sweeps).plan({ to: other.address, keepSun: 0n, limit: 10 }, AUTHOR)).rejects.toThrow(
      'is a project’s deposit address',
    );
    await payTrx(one, 30_000_000);
    await settle();
    await follow();
    await sendFrom(one, other.address, 20_000_000n);
    await settle();
    expect(await unexplained()).toEqual([]);
    expect(await creditedTo(other)).toBe(0n);
    expect(await movementsOf(other)).toEqual([{ kind: 'native', asset: 'TRX', amount: '20000000' }]);
  });

  it('goes to no address that has paid a deposit, which goes on paying, and keeps no address without a plan', async () => {
    const to = await newDepositProject();
    const kept = (address: string) => database.query(`SELECT FROM deposit_sweep_address WHERE address = $1`, [address]);
    await payTrx(to, 20_000_000);
    await settle();
    await follow();
    const plan = { keepSun: 0n, limit: 10 };
    await expect(operator.get(Sweeps).plan({ ...plan, to: payer.address }, AUTHOR)).rejects.toThrow(
      'has paid deposits',
    );
    expect(await kept(payer.address)).toEqual([]);
    await payTrx(to, 10_000_000);
    await settle();
    await follow();
    expect(await creditedTo(to)).toBe(90_000_000n);
    const fresh = newChainAccount().address;
    expect((await operator.get(Sweeps).plan({ ...plan, to: fresh, limit: 0 }, AUTHOR)).transactions).toEqual([]);
    expect(await kept(fresh)).toEqual([]);
    await operator.get(Sweeps).plan({ ...plan, to: fresh }, AUTHOR);
    expect(await kept(fresh)).toHaveLength(1);
  });
});

describe('a missed deposit', () => {
  it('is reported by an audit and recorded by a rescan, at the rate of its own minute, once', async () => {
    const [seen, missed] = [await newDepositProject(), await newDepositProject()];
    const from = (await solid()) + 1;
    await payToken(seen, 7_000_000n, otherToken);
    await payTrx(seen, 10_000_000);
    await payTrx(missed, 20_000_000);
    await settle();
    meddle(spies, hideLast);
    await follow();
    for (const spy of spies) spy.rest();
    const before = await unexplained();
    expect(before).toEqual([
      { address: missed.address, projectId: missed.id, asset: 'TRX', onChain: 20_000_000n, recorded: 0n },
    ]);
    expect(await depositsOf(missed)).toEqual([]);
    // Another rate applies by now.
    await mine(40);
    await follow();
    const to = await solid();
    const report = await operator.get(Rescan).run({ from, to });
    expect(report).toEqual({ blocks: to - from + 1, found: 1, interrupted: false });
    expect(await creditedTo(missed)).toBe(60_000_000n);
    expect(await creditedTo(seen)).toBe(30_000_000n);
    expect(await operator.get(Rescan).run({ from, to })).toMatchObject({ found: 0 });
    const [ignored] = await database.query(`SELECT transfers FROM ignored_transfer WHERE address = $1`, [seen.address]);
    expect(ignored).toEqual({ transfers: 1n });
    expect(await unexplained()).toEqual([]);
  });

  it('is searched for beside live traffic, and neither doubles the other', async () => {
    const projects = [await newDepositProject(), await newDepositProject()];
    const from = (await solid()) + 1;
    for (let round = 0; round < 8; round += 1) {
      for (const to of projects) {
        await payTrx(to, 12_000_000);
        await payTrx(to, 4_000_001);
      }
      await mine(1);
    }
    await settle();
    const scan = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) await operator.get(Rescan).run({ from, to: from + 20 });
    };
    await Promise.all([follow(), scan(), scan()]);
    await scan();
    for (const to of projects) {
      expect(await depositsOf(to)).toHaveLength(16);
      // 96 TRX, and 32.000008 TRX in small payments of which some may still be pending.
      const waiting = (await depositsOf(to)).filter(({ status }) => status === 'pending');
      const left = waiting.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
      expect(await creditedTo(to)).toBe((128_000_008n - left) * 3n);
    }
    expect(await unexplained()).toEqual([]);
  });

  it('beyond a month of blocks, or backwards, is refused', async () => {
    const rescan = operator.get(Rescan);
    await expect(rescan.run({ from: 0, to: 31 * 28_800 })).rejects.toThrow('at most');
    await expect(rescan.run({ from: 5, to: 4 })).rejects.toThrow('out of range');
  });
});

describe('a return', () => {
  const returns = () => operator.get(DepositReturns);
  const waitingForLocks = async (): Promise<number> => {
    const rows = await database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length;
  };

  /** Makes a credited deposit of 40 TRX. */
  const paid = async (): Promise<{ to: DepositProject; id: bigint }> => {
    const to = await newDepositProject();
    await payTrx(to, 40_000_000);
    await settle();
    await follow();
    return { to, id: await idOf(to) };
  };

  it('removes the credits first, is paid once, and gets another transaction only if the first can no longer arrive', async () => {
    const { to, id } = await paid();
    // An existing account, because the first sender to a new one pays for its creation.
    const customer = payer.address;
    const first = await returns().make(id, customer, AUTHOR);
    expect(first).toMatchObject({
      isAgain: false,
      credits: 120_000_000n,
      transfer: { amount: 40_000_000n, to: customer },
    });
    expect(await creditedTo(to)).toBe(0n);
    await expect(returns().make(id, customer, AUTHOR)).rejects.toThrow('may still be sent');
    await expect(returns().make(id, newChainAccount().address, AUTHOR)).rejects.toThrow('is already being returned to');
    // It was never sent, and by the chain's time it has expired.
    await mine(1);
    await expire(id);
    for (const depth of ['everything', 'newer'] as const) {
      const found = findingsOf(await verifyRecords(database, { depth }));
      expect(found.map(({ check, subject, facts }) => [check, subject, facts['txid']])).toEqual([
        ['deposit-returns', `deposit ${id.toString()}`, first.transfer.txid],
      ]);
    }
    const second = await returns().make(id, customer, AUTHOR);
    expect(second).toMatchObject({ isAgain: true });
    expect(second.transfer.txid).not.toBe(first.transfer.txid);
    expect(await creditedTo(to)).toBe(0n);
    await signAndSend(second.transfer);
    await settle();
    expect(await unexplained()).toEqual([]);
    await expire(id);
    await expect(returns().make(id, customer, AUTHOR)).rejects.toThrow(/on chain|no longer holds/);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('of each of two equal deposits has its own transaction, even in one block', async () => {
    const { to } = await paid();
    await payTrx(to, 40_000_000);
    await settle();
    await follow();
    const ids = await idsOf(to, 'TRX');
    const given = [];
    for (const id of ids) given.push((await returns().make(id, payer.address, AUTHOR)).transfer);
    expect(new Set(given.map(({ txid }) => txid)).size).toBe(2);
    for (const transfer of given) await signAndSend(transfer);
    await settle();
    await follow();
    expect(await movementsOf(to)).toEqual([1, 2].map(() => ({ kind: 'native', asset: 'TRX', amount: '-40000000' })));
    await Promise.all(ids.map(expire));
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('that failed on chain is not paid, and gets another transaction', async () => {
    const to = await newDepositProject();
    // TRX for a thousand energy. A token transfer needs more and burns all of it.
    await payTrx(to, 100_000);
    await payToken(to, 20_000_000n);
    await settle();
    await follow();
    const [id] = await idsOf(to, 'USDT');
    await signAndSend((await returns().make(id!, payer.address, AUTHOR)).transfer);
    await settle();
    await follow();
    expect(await movementsOf(to)).toEqual([{ kind: 'fee', asset: 'TRX', amount: '-100000' }]);
    await expire(id!);
    expect(await returns().make(id!, payer.address, AUTHOR)).toMatchObject({ isAgain: true, credits: 200_000_000n });
  });

  it('of a deposit that carried small ones removes only its own worth', async () => {
    const to = await newDepositProject();
    await payTrx(to, 4_000_000);
    await settle();
    await payTrx(to, 7_000_000);
    await settle();
    await follow();
    const [small, carrier] = await idsOf(to, 'TRX');
    await expect(returns().make(small!, payer.address, AUTHOR)).rejects.toThrow('with others');
    expect(await returns().make(carrier!, payer.address, AUTHOR)).toMatchObject({
      credits: 21_000_000n,
      transfer: { amount: 7_000_000n },
    });
    expect(await creditedTo(to)).toBe(12_000_000n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('that two repeat concurrently gets one transaction more', async () => {
    const { id } = await paid();
    const customer = payer.address;
    await returns().make(id, customer, AUTHOR);
    await mine(1);
    await expire(id);
    const asked = await database.transaction(async (tx) => {
      await tx.query(`SELECT FROM deposit WHERE id = $1 FOR UPDATE`, [id]);
      const both = [1, 2].map(() => returns().make(id, customer, AUTHOR));
      const settled = Promise.allSettled(both);
      await until(async () => ((await waitingForLocks()) === 2 ? true : undefined), START_LIMIT_MS, 'both at the lock');
      return { settled };
    });
    const outcomes = await asked.settled;
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : [])).join('')).toContain(
      'may still be sent',
    );
  });

  it('of spent credits is refused, and books nothing', async () => {
    const to = await newDepositProject();
    await payTrx(to, 40_000_000);
    await settle();
    await follow();
    await operator.get(Ledger).adjust(to.id, credits(-1n), 'spent', AUTHOR);
    const id = await idOf(to);
    await expect(returns().make(id, newChainAccount().address, AUTHOR)).rejects.toThrow('has spent these credits');
    expect(await creditedTo(to)).toBe(119_999_999n);
    expect(await database.query(`SELECT FROM deposit_return WHERE deposit_id = $1`, [id])).toEqual([]);
  });

  it('of a waiting deposit, or of one credited with others, is refused, and of an ignored one books nothing', async () => {
    const [small, odd] = [await newDepositProject(), await newDepositProject()];
    await payTrx(small, 4_000_000);
    const minute = Math.floor(((await wallet().headTime()) + 3000) / 60_000);
    await settle();
    await follow();
    await expect(returns().make(await idOf(small), newChainAccount().address, AUTHOR)).rejects.toThrow('is pending');
    await payTrx(small, 7_000_000);
    await settle();
    await follow();
    await expect(returns().make(await idOf(small), newChainAccount().address, AUTHOR)).rejects.toThrow('with others');
    expect(minute).toBeGreaterThan(0);
    await payTrx(odd, 20_000_000);
    await settle();
    await rates(
      () => undefined,
      () => undefined,
    );
    await database.query(`DELETE FROM asset_rate`);
    await follow();
    await database.query(`UPDATE deposit SET status = 'ignored', reason = 'not ours' WHERE project_id = $1`, [odd.id]);
    await database.query(
      `INSERT INTO audit_log (actor, action, subject, reason, detail)
       SELECT 'test', 'deposits.ignore', id::text, 'not ours', '{}' FROM deposit WHERE project_id = $1`,
      [odd.id],
    );
    const given = await returns().make(await idOf(odd), newChainAccount().address, AUTHOR);
    expect(given).toMatchObject({ credits: undefined, transfer: { amount: 20_000_000n } });
    expect(await creditedTo(odd)).toBe(0n);
  });
});

it('verify finds a deposit that is credited with more than its worth', async () => {
  const to = await newDepositProject();
  await payTrx(to, 10_000_000);
  await settle();
  await follow();
  const change = async (by: number): Promise<void> => {
    await database.query(`ALTER TABLE deposit DISABLE TRIGGER USER`);
    await database.query(`UPDATE deposit SET amount = amount + $2 WHERE project_id = $1`, [to.id, by]);
    await database.query(`ALTER TABLE deposit ENABLE TRIGGER USER`);
  };
  expect(findingsOf(await verifyRecords(database))).toEqual([]);
  await change(-1);
  for (const depth of ['everything', 'newer'] as const) {
    const found = findingsOf(await verifyRecords(database, { depth }));
    expect(found.map(({ check, facts }) => [check, facts['credits'], facts['worth']])).toEqual([
      ['deposit-credits', '30000000', '29999997'],
    ]);
  }
  await change(1);
});

it('the commands show the same', async () => {
  const run = commandLine;
  const to = await newDepositProject();
  const from = (await solid()) + 1;
  await payTrx(to, 15_000_000);
  await settle();
  await follow();
  const ended = (await solid()).toString();
  const rescanned = await run('deposits', 'rescan', '--from', from.toString(), '--to', ended);
  expect(rescanned.json()).toMatchObject({ found: 0 });
  expect(await run('deposits', 'audit')).toMatchObject({ code: 0 });
  const treasury = newChainAccount().address;
  await wallet().send('createaccount', { owner_address: payer.address, account_address: treasury }, payer);
  const plan = await run('deposits', 'sweep-plan', '--to', treasury, '--keep-sun', '0');
  const payment = { from: to.address, asset: 'TRX', amount: 15_000_000 };
  expect(plan.json()).toMatchObject({ transactions: expect.arrayContaining([expect.objectContaining(payment)]) });
  expect((await run('deposits', 'sweep-addresses')).json()).toContainEqual(
    expect.objectContaining({ address: treasury, uncredited: 0 }),
  );
  const id = (await idOf(to)).toString();
  const listed = async () =>
    ((await run('deposits', 'list', '--merchant', to.id)).json() as { return_state: string | null }[]).map(
      ({ return_state: state }) => state,
    );
  expect(await listed()).toEqual([null]);
  const returned = (await run('deposits', 'return', id, '--to', payer.address)).json() as {
    readonly transaction: { readonly path: string; readonly raw_data_hex: string };
  };
  expect(returned).toMatchObject({ credits: 45_000_000 });
  expect(await listed()).toEqual(['being given back']);
  await signAndSend({ path: returned.transaction.path, rawDataHex: returned.transaction.raw_data_hex });
  await settle();
  await follow();
  expect(await listed()).toEqual(['given back']);
  expect((await inTerminal('deposits', 'list', '--merchant', to.id)).out).toContain('credited, given back');
  expect(await run('verify', '--full', '--settle-within', '0')).toMatchObject({ code: 0 });
});
