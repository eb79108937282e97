// Sweep plans and returns on the local chain: each transfer is simulated, signed elsewhere, sent, and arrives.
import 'reflect-metadata';
import { TronWeb } from 'tronweb';
import { Sweeps } from '../../../src/modules/deposits/sweeps.js';
import type { PlannedTransfer } from '../../../src/modules/deposits/deposit-transfers.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  START_LIMIT_MS,
  type Json,
  type DepositProject,
  calm,
  chain,
  closeFixture,
  commandLine,
  database,
  follow,
  keyOf,
  mine,
  open,
  openFixture,
  operator,
  payToken,
  payTrx,
  payer,
  rentFor,
  sendFrom,
  settle,
  newDepositProject,
  signAndSend,
  tokenOf,
  unexplained,
  wallet,
} from '../../support/worker/deposit-fixture.js';
import { DepositsModule } from '../../../src/modules/deposits/deposits.module.js';
import { ProjectsModule } from '../../../src/modules/projects/projects.module.js';

const TRX = 1_000_000n;
const COLD = 130_285;
const WARM = 64_285;

/** Receives the funds that a test leaves over. */
const dump = newChainAccount();

beforeAll(async () => {
  await openFixture();
  await wallet().send('createaccount', { owner_address: payer.address, account_address: dump.address }, payer);
  await settle();
}, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

interface Receipt {
  readonly result: string;
  readonly energy_usage?: number;
  readonly energy_usage_total?: number;
  readonly energy_fee?: number;
  readonly net_fee?: number;
}

/** Signs and sends in order, each after the previous one is in a block. */
async function carryOut(transactions: readonly PlannedTransfer[]): Promise<Receipt[]> {
  const receipts: Receipt[] = [];
  for (const planned of transactions) {
    await signAndSend(planned);
    await mine(1);
    const { receipt } = (await wallet().receipt(planned.txid)) as { receipt: Receipt };
    receipts.push(receipt);
  }
  await settle();
  return receipts;
}

const balanceOf = async (address: string): Promise<bigint> =>
  BigInt(Number((await wallet().post('wallet/getaccount', { address, visible: true }))['balance'] ?? 0));

const fromEach = (
  { transactions }: { transactions: readonly PlannedTransfer[] },
  projects: readonly DepositProject[],
) => transactions.filter(({ from }) => projects.some(({ address }) => address === from));

/** Sweeps all funds, so that later plans start empty. */
async function clear(): Promise<void> {
  const plan = await operator.get(Sweeps).plan({ to: dump.address, keepSun: 0n, limit: 100, isRented: true }, AUTHOR);
  await prepare(plan.transactions);
  await carryOut(plan.transactions);
}

/** Does the preparations that a plan requires: activations and rented energy. */
async function prepare(transactions: readonly PlannedTransfer[]): Promise<void> {
  for (const { from, needsActivation } of transactions) {
    if (!needsActivation) continue;
    await wallet().send('createaccount', { owner_address: payer.address, account_address: from }, payer);
    await mine(1);
  }
  for (const { from, rentEnergy } of transactions) if (rentEnergy > 0n) await rentFor(from, rentEnergy);
}

describe('a sweep plan', () => {
  afterEach(clear);

  it('followed step by step arrives, and uses exactly the rented energy', async () => {
    const projects = [await newDepositProject(), await newDepositProject(), await newDepositProject()];
    const [rich, bare, other] = projects as [DepositProject, DepositProject, DepositProject];
    await payTrx(rich, 60_000_000);
    for (const to of [rich, bare, other]) await payToken(to, 20_000_000n);
    await settle();
    await follow();
    const treasury = newChainAccount().address;
    const plan = await operator.get(Sweeps).plan({ to: treasury, keepSun: TRX, limit: 100, isRented: true }, AUTHOR);
    expect(plan.leftOut).toEqual([]);
    const tokens = plan.transactions.filter(({ asset }) => asset === 'USDT');
    expect(tokens.map(({ energy }) => Number(energy))).toEqual([COLD, WARM, WARM]);
    expect(tokens.map(({ mustConfirm }) => mustConfirm)).toEqual([true, false, false]);
    for (const { from, needsActivation } of tokens) expect(needsActivation).toBe(from !== rich.address);
    await prepare(plan.transactions);
    const receipts = await carryOut(plan.transactions);
    for (const [index, { asset, energy, bandwidth, burnsSun }] of plan.transactions.entries()) {
      const { result, energy_usage: used = 0, energy_fee: burnt = 0, net_fee: net = 0 } = receipts[index]!;
      if (asset === 'USDT') expect([result, BigInt(used), burnt]).toEqual(['SUCCESS', energy, 0]);
      if (net > 0 && burnsSun < 1_000_000n) expect(net).toBe(Number(bandwidth) * 1000);
    }
    expect(await tokenOf(treasury)).toBe(60_000_000n - 3n);
    const [trx] = plan.transactions.filter(({ asset }) => asset === 'TRX');
    expect(await balanceOf(treasury)).toBe(trx!.amount);
    expect(await unexplained()).toEqual([]);
  });

  it('without rented energy leaves TRX for the burn of the token transaction', async () => {
    const to = await newDepositProject();
    await payTrx(to, 60_000_000);
    await payToken(to, 20_000_000n);
    await settle();
    await follow();
    const treasury = newChainAccount().address;
    const plan = await operator.get(Sweeps).plan({ to: treasury, keepSun: TRX, limit: 10 }, AUTHOR);
    const [token, trx] = plan.transactions;
    expect(plan.transactions).toHaveLength(2);
    const burnt = token!.rentEnergy * 100n;
    // The transfer activates its receiver: 1.1 TRX.
    expect(trx).toMatchObject({ amount: 60n * TRX - burnt - 1_100_000n, createsReceiver: true, burnsSun: 1_100_000n });
    for (const { result = 'SUCCESS' } of await carryOut(plan.transactions)) expect(result).toBe('SUCCESS');
    expect(await balanceOf(treasury)).toBe(trx!.amount);
    expect(await tokenOf(treasury)).toBe(19_999_999n);
    expect(await unexplained()).toEqual([]);
  });

  it.each([210, 420])('has fee limits by the present price, which is %i sun', async (price) => {
    await chain.control('parameters', { getEnergyFee: price });
    try {
      const to = await newDepositProject();
      await payTrx(to, 100_000_000);
      await payToken(to, 20_000_000n);
      await settle();
      await follow();
      const treasury = newChainAccount().address;
      const plan = await operator.get(Sweeps).plan({ to: treasury, keepSun: TRX, limit: 10 }, AUTHOR);
      const [token] = plan.transactions;
      expect(token).toMatchObject({ energy: BigInt(COLD), burnsSun: BigInt(COLD * price) });
      expect(token!.feeLimitSun).toBeGreaterThanOrEqual(BigInt(COLD * price));
      await carryOut(plan.transactions);
      expect(await tokenOf(treasury)).toBe(19_999_999n);
    } finally {
      await chain.control('parameters', { getEnergyFee: 100 });
    }
  });

  it('leaves out a transaction without enough bandwidth, and says so', async () => {
    const to = await newDepositProject();
    await payTrx(to, 200_000);
    await payToken(to, 20_000_000n);
    await settle();
    await follow();
    // Two tiny transfers use up the free bandwidth.
    for (let sent = 0; sent < 2; sent += 1) {
      await sendFrom(to, payer.address, 1n);
      await mine(1);
    }
    await settle();
    const plan = await operator.get(Sweeps).plan({ to: newChainAccount().address, keepSun: 0n, limit: 10 }, AUTHOR);
    expect(plan.transactions).toEqual([]);
    expect(plan.leftOut).toMatchObject([{ from: to.address, asset: 'USDT', cause: 'no_bandwidth' }]);
    await payTrx(to, 1_000_000);
    await settle();
  });

  it('leaves the smallest amount of the token behind, so that the next payment takes half the energy', async () => {
    const to = await newDepositProject();
    await payToken(to, 20_000_000n);
    await settle();
    await clear();
    expect(await tokenOf(to.address)).toBe(1n);
    const next = await payToken(to, 5_000_000n);
    expect(next['receipt']).toMatchObject({ energy_usage_total: WARM });
    await settle();
    await follow();
    // Pays for bandwidth, since the free one is used up.
    await payTrx(to, 1_000_000);
    await settle();
    const all = await open('cli', [DepositsModule, ProjectsModule], { DEPOSIT_SWEEP_LEAVES_TOKEN: 'false' });
    const plan = await all.get(Sweeps).plan({ to: dump.address, keepSun: 0n, limit: 10 }, AUTHOR);
    expect(plan.transactions).toMatchObject([{ from: to.address, amount: 5_000_001n }]);
  });

  it('judges the minimum of a deposit after the amount left behind', async () => {
    const [trx, token] = [await newDepositProject(), await newDepositProject()];
    await payTrx(trx, 10_999_999);
    await payToken(token, 5_000_000n);
    await settle();
    const planned = async () => operator.get(Sweeps).plan({ to: dump.address, keepSun: TRX, limit: 10 }, AUTHOR);
    expect(await planned()).toEqual({ transactions: [], leftOut: [] });
    await payTrx(trx, 1);
    await payToken(token, 1n);
    await settle();
    const { transactions } = await planned();
    expect(fromEach({ transactions }, [trx]).map(({ amount }) => amount)).toEqual([10n * TRX]);
    expect(fromEach({ transactions }, [token]).map(({ amount }) => amount)).toEqual([5n * TRX]);
  });

  it('names an address that holds less of the token than its records say', async () => {
    const to = await newDepositProject();
    await follow();
    // The chain does not have these 7 USDT.
    await database.query(
      `INSERT INTO deposit_movement (txid, kind, place, address, asset, amount, block_number, block_at)
       SELECT decode($1, 'hex'), 'log', 0, $2, 'USDT', 7000000, block_number - 1, block_at FROM deposit_cursor`,
      ['ab'.repeat(32), to.address],
    );
    const { leftOut } = await operator.get(Sweeps).plan({ to: dump.address, keepSun: 0n, limit: 10 }, AUTHOR);
    expect(leftOut).toMatchObject([{ from: to.address, asset: 'USDT', amount: 7n * TRX, cause: 'missing' }]);
  });

  it('printed as JSON is signed with tronweb unchanged, and broadcast', async () => {
    const to = await newDepositProject();
    await payTrx(to, 60_000_000);
    await payToken(to, 20_000_000n);
    await settle();
    await follow();
    const treasury = newChainAccount().address;
    const { transactions } = (await commandLine('deposits', 'sweep-plan', '--to', treasury)).json() as {
      transactions: { path: string; transaction: Json & { txID: string } }[];
    };
    expect(transactions).toHaveLength(2);
    const tronWeb = new TronWeb({ fullHost: chain.fullUrl });
    for (const { path, transaction } of transactions) {
      const signed = await tronWeb.trx.sign(transaction as never, keyOf(path).toString('hex'));
      expect(await tronWeb.trx.sendRawTransaction(signed)).toMatchObject({ result: true, txid: transaction.txID });
      await mine(1);
      expect(await wallet().receipt(transaction.txID)).not.toMatchObject({ result: 'FAILED' });
    }
    await settle();
    expect(await tokenOf(treasury)).toBe(19_999_999n);
  });
});
