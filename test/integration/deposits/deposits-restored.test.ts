// After a restore, records of our own transactions may be missing. Our own money must not be credited or paid out
// twice.
import 'reflect-metadata';
import { DepositAddresses } from '../../../src/modules/deposits/deposit-addresses.js';
import { DepositBook } from '../../../src/modules/deposits/deposit-book.js';
import { DepositReturns } from '../../../src/modules/deposits/deposit-returns.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
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
  idOf,
  mine,
  openFixture,
  operator,
  payTrx,
  sendFrom,
  settle,
  newDepositProject,
  signAndSend,
  wallet,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

const taken = async (): Promise<void> => {
  await settle();
  await follow();
};

/** Creates a project with 50 TRX paid in. */
async function paidProject(): Promise<DepositProject> {
  const to = await newDepositProject();
  await payTrx(to, 50_000_000);
  await taken();
  return to;
}

const outflows = async () =>
  findingsOf(await verifyRecords(database)).filter(({ check }) => check === 'deposit-outflows');

async function explainOutflows(): Promise<void> {
  for (const { fingerprint } of await outflows()) await commandLine('verify', 'explain', fingerprint);
}

describe('a payment from an address that a deposit address paid', () => {
  it('is held, whatever its size, and credited when the operator decides so', async () => {
    const [from, to] = [await paidProject(), await newDepositProject()];
    const lost = newChainAccount();
    await sendFrom(from, lost.address, 40_000_000n);
    await taken();
    for (const amount of [20_000_000, 1_000_000]) {
      await wallet().send('createtransaction', { owner_address: lost.address, to_address: to.address, amount }, lost);
      await taken();
    }
    expect(await depositsOf(to)).toMatchObject([
      { status: 'held', reason: 'paid_by_us', amount: '20000000' },
      { status: 'held', reason: 'paid_by_us', amount: '1000000' },
    ]);
    expect(await creditedTo(to)).toBe(0n);
    await operator.get(DepositBook).resolveHeld(await idOf(to), true, AUTHOR);
    expect(await creditedTo(to)).toBe(60_000_000n);
    await explainOutflows();
  });

  it('is held if both are in one block', async () => {
    const [from, to] = [await paidProject(), await newDepositProject()];
    const lost = newChainAccount();
    await payTrx({ id: '', address: lost.address }, 30_000_000);
    await mine(1);
    await sendFrom(from, lost.address, 40_000_000n);
    const transfer = { owner_address: lost.address, to_address: to.address, amount: 20_000_000 };
    await wallet().send('createtransaction', transfer, lost);
    await taken();
    expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'paid_by_us' }]);
    await explainOutflows();
  });

  it('is credited if a deposit was returned to that address', async () => {
    const [from, to] = [await paidProject(), await newDepositProject()];
    const customer = newChainAccount();
    await payTrx(from, 50_000_000);
    await taken();
    const { transfer } = await operator.get(DepositReturns).make(await idOf(from), customer.address, AUTHOR);
    await signAndSend(transfer);
    await taken();
    const transferBack = { owner_address: customer.address, to_address: to.address, amount: 20_000_000 };
    await wallet().send('createtransaction', transferBack, customer);
    await taken();
    expect(await depositsOf(to)).toMatchObject([{ status: 'credited' }]);
  });
});

describe('a return', () => {
  it('is refused while an outflow is neither a sweep nor a return, and made once that is explained', async () => {
    const [stolen, to] = [await paidProject(), await paidProject()];
    const customer = newChainAccount().address;
    const txid = await sendFrom(stolen, newChainAccount().address, 40_000_000n);
    await taken();
    const returns = operator.get(DepositReturns);
    const refusal = new RegExp(`^${txid} moved money from ${stolen.address}.*verify explain`);
    await expect(returns.preview(await idOf(to), customer)).rejects.toThrow(refusal);
    await expect(returns.make(await idOf(to), customer, AUTHOR)).rejects.toThrow(refusal);
    expect(await database.query(`SELECT FROM deposit_return WHERE to_address = $1`, [customer])).toEqual([]);
    expect(await creditedTo(to)).toBe(150_000_000n);
    expect(await outflows()).toHaveLength(1);
    await explainOutflows();
    await returns.make(await idOf(to), customer, AUTHOR);
    expect(await creditedTo(to)).toBe(0n);
  });
});

describe('the number of a deposit address', () => {
  const placeOf = async ({ address }: DepositProject): Promise<number> =>
    Number((await operator.get(DepositAddresses).list()).find((row) => row.address === address)!.place);

  it('leaves a gap on another server, once', async () => {
    const before = await placeOf(await newDepositProject());
    expect(await placeOf(await newDepositProject())).toBe(before + 1);
    // As the rows look after the dump was restored on another server.
    await database.query(`ALTER TABLE deposit_address DISABLE TRIGGER USER`);
    await database.query(`UPDATE deposit_address SET server_mark = 'the server before the restore'`);
    await database.query(`ALTER TABLE deposit_address ENABLE TRIGGER USER`);
    const after = await placeOf(await newDepositProject());
    expect(after).toBeGreaterThanOrEqual(before + 10_000);
    expect(await placeOf(await newDepositProject())).toBe(after + 1);
  });
});

it('verify finds a deposit credited at a rate that was not stored since its minute', async () => {
  const to = await paidProject();
  const isFound = async (): Promise<boolean> =>
    findingsOf(await verifyRecords(database)).some(
      ({ check, facts }) => check === 'deposit-rates' && facts['rate'] === '30000000',
    );
  expect(await creditedTo(to)).toBe(150_000_000n);
  expect(await isFound()).toBe(false);
  await database.query(`UPDATE asset_rate SET rate_e8 = 3000000 WHERE asset = 'TRX'`);
  expect(await isFound()).toBe(true);
});
