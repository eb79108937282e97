// Sweeps and returns of deposits after each act of the token's owner: they arrive, or the plan names the failure.
import 'reflect-metadata';
import { DepositReturns } from '../../../src/modules/deposits/deposit-returns.js';
import type { PlannedTransfer } from '../../../src/modules/deposits/deposit-transfers.js';
import { Sweeps } from '../../../src/modules/deposits/sweeps.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { localUsdtOwner, localUsdtSuccessor } from '../../../packages/local/src/local-usdt.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  START_LIMIT_MS,
  type DepositProject,
  calm,
  chain,
  closeFixture,
  commandLine,
  creditedTo,
  database,
  follow,
  idsOf,
  inTerminal,
  mine,
  openFixture,
  operator,
  payToken,
  payTrx,
  payer,
  rentFor,
  settle,
  newDepositProject,
  signAndSend,
  tokenOf,
  unexplained,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

const AMOUNT = 20_000_000n;
const sweep = (to: string) => operator.get(Sweeps).plan({ to, keepSun: 1_000_000n, limit: 100 }, AUTHOR);
const act = (name: string, body: object = {}) => chain.control(`token/${name}`, body);
const findings = async () => findingsOf(await verifyRecords(database));

/** Creates a project with a credited deposit of 20 USDT, and TRX to pay for its transfer. */
async function paid(): Promise<DepositProject & { readonly deposit: bigint }> {
  const to = await newDepositProject();
  await payToken(to, AMOUNT);
  await payTrx(to, 50_000_000);
  await settle();
  await follow();
  return { ...to, deposit: (await idsOf(to, 'USDT'))[0]! };
}

async function send(transactions: readonly PlannedTransfer[]): Promise<void> {
  for (const transfer of transactions) {
    if (transfer.rentEnergy > 0n) await rentFor(transfer.from, transfer.rentEnergy);
    await signAndSend(transfer);
    await mine(1);
  }
  await settle();
  await follow();
}

const movementsOf = ({ address }: DepositProject) =>
  database.query<{ kind: string; amount: string; counterparty: string }>(
    `SELECT kind, amount::text, counterparty FROM deposit_movement WHERE address = $1 AND asset = 'USDT' ORDER BY place`,
    [address],
  );

/** Expects the plan to leave out the token transfer, with its cause. */
async function expectNamed(
  from: DepositProject & { readonly deposit: bigint },
  treasury: string,
  cause: string,
  says: RegExp,
) {
  const plan = await sweep(treasury);
  expect(plan.leftOut.filter((each) => each.from === from.address)).toMatchObject(
    [{ asset: 'USDT', cause, says }].map((each) => ({ ...each, says: expect.stringMatching(says) })),
  );
  expect(plan.transactions.filter((each) => each.from === from.address && each.asset === 'USDT')).toEqual([]);
}

async function expectRefused(
  from: DepositProject & { readonly deposit: bigint },
  to: string,
  says: RegExp,
): Promise<void> {
  const before = await creditedTo(from);
  await expect(operator.get(DepositReturns).make(from.deposit, to, AUTHOR)).rejects.toThrow(says);
  expect(await creditedTo(from)).toBe(before);
  expect(await database.query(`SELECT FROM deposit_return WHERE deposit_id = $1`, [from.deposit])).toEqual([]);
}

it('the token is paused: its transfers are named, TRX arrives, and the rest arrives once it continues', async () => {
  const from = await paid();
  const treasury = newChainAccount().address;
  await act('pause');
  try {
    await expectNamed(from, treasury, 'paused', /paused/);
    await expectRefused(from, payer.address, /paused/);
    const { transactions } = await sweep(treasury);
    expect(transactions).toMatchObject([{ from: from.address, asset: 'TRX' }]);
  } finally {
    await act('unpause');
  }
  const { transactions } = await sweep(treasury);
  await send(transactions);
  expect(await tokenOf(treasury)).toBe(AMOUNT - 1n);
  expect(await unexplained()).toEqual([]);
  expect(await findings()).toEqual([]);
});

it('a deposit address is blacklisted: none of its tokens leave, and it is named', async () => {
  const [from, other] = [await paid(), await paid()];
  const treasury = newChainAccount().address;
  await act('blacklist', { holder: from.address });
  try {
    await expectNamed(from, treasury, 'sender_blacklisted', /blacklisted this deposit address/);
    await expectRefused(from, payer.address, /blacklisted this deposit address/);
    const { transactions } = await sweep(treasury);
    await send(transactions);
    expect(await tokenOf(treasury)).toBe(AMOUNT - 1n);
    expect(await tokenOf(other.address)).toBe(1n);
  } finally {
    await act('unblacklist', { holder: from.address });
  }
  const { transfer } = await operator.get(DepositReturns).make(from.deposit, payer.address, AUTHOR);
  await send([transfer]);
  expect(await tokenOf(from.address)).toBe(0n);
  expect(await findings()).toEqual([]);
  expect(await unexplained()).toEqual([]);
});

it('the receiver is blacklisted: a transfer would succeed and stay there forever, so it is named', async () => {
  const from = await paid();
  const treasury = newChainAccount().address;
  await act('blacklist', { holder: treasury });
  await expectNamed(from, treasury, 'receiver_blacklisted', /blacklisted the recipient/);
  const customer = newChainAccount().address;
  await act('blacklist', { holder: customer });
  await expectRefused(from, customer, /blacklisted the recipient/);
  await act('unblacklist', { holder: treasury });
  await send((await sweep(treasury)).transactions);
  expect(await tokenOf(treasury)).toBeGreaterThanOrEqual(AMOUNT - 1n);
});

describe('the token takes fees:', () => {
  /** A payment of the same amount, less its own fee of 0.1 %. */
  const arrived = AMOUNT - 20_000n;

  beforeAll(() => act('fees', { basis_points: 10, max_fee: 5 }));
  afterAll(() => act('fees', { basis_points: 0, max_fee: 0 }));

  it('a sweep names the arriving amount, its fee is a fee and no theft, and the audit agrees', async () => {
    const from = await paid();
    const treasury = newChainAccount().address;
    const { transactions } = await sweep(treasury);
    const [token] = transactions.filter((each) => each.asset === 'USDT' && each.from === from.address);
    expect(token).toMatchObject({ amount: arrived - 1n, arrives: arrived - 1n - 19_979n, tokenFee: 19_979n });
    await send(transactions);
    expect(await tokenOf(from.address)).toBe(1n);
    expect(await movementsOf(from)).toEqual([
      { kind: 'log', amount: (-(arrived - 1n - 19_979n)).toString(), counterparty: treasury },
      { kind: 'fee', amount: '-19979', counterparty: localUsdtOwner.address },
    ]);
    expect(await findings()).toEqual([]);
    expect(await unexplained()).toEqual([]);
  });

  it('a return names the arriving amount, is paid by it, and is never made twice even if its record is lost', async () => {
    const from = await paid();
    const customer = newChainAccount().address;
    const asked = await inTerminal(
      '--reason',
      'a test',
      'deposits',
      'return',
      from.deposit.toString(),
      '--to',
      customer,
    );
    expect(asked.err).toContain('19.960020 USDT arrive');
    expect(asked.err).toContain('the token deducts a fee of 0.019980 from 19.980000');
    const returned = await commandLine('deposits', 'return', from.deposit.toString(), '--to', customer);
    const { transaction } = returned.json() as { transaction: { path: string; raw_data_hex: string } };
    expect(transaction).toMatchObject({ amount: 19_980_000, arrives: 19_960_020, token_fee: 19_980 });
    await signAndSend({ path: transaction.path, rawDataHex: transaction.raw_data_hex });
    await settle();
    await follow();
    expect(await tokenOf(customer)).toBe(19_960_020n);
    expect(await findings()).toEqual([]);
    expect(await unexplained()).toEqual([]);
    await payToken(from, AMOUNT);
    await settle();
    await follow();
    // As after a failover that lost the record.
    const byHand = async (text: string, params: readonly unknown[]): Promise<readonly object[]> => {
      await database.query(`ALTER TABLE deposit_return DISABLE TRIGGER USER`);
      const rows = await database.query<object>(text, params);
      await database.query(`ALTER TABLE deposit_return ENABLE TRIGGER USER`);
      return rows;
    };
    const [lost] = await byHand(`DELETE FROM deposit_return r WHERE deposit_id = $1 RETURNING to_jsonb(r) AS row`, [
      from.deposit,
    ]);
    const again = () => operator.get(DepositReturns).make(from.deposit, customer, AUTHOR);
    const refusal = await again().then(() => '', String);
    expect(refusal).toContain('is neither a recorded sweep nor a recorded return');
    const [, fingerprint = ''] = /verify explain (\w+)/.exec(refusal) ?? [];
    await commandLine('verify', 'explain', fingerprint, '--reason', 'a test');
    await expect(again()).rejects.toThrow(`moved the same amount from ${from.address} to ${customer}`);
    await byHand(`INSERT INTO deposit_return SELECT * FROM jsonb_populate_record(NULL::deposit_return, $1)`, [
      (lost as { row: object }).row,
    ]);
  });
});

it('the funds of a deposit address are destroyed: no transfer of them is planned, and a return is refused', async () => {
  const from = await paid();
  const treasury = newChainAccount().address;
  await act('blacklist', { holder: from.address });
  await act('destroy', { holder: from.address });
  await settle();
  await follow();
  expect(await tokenOf(from.address)).toBe(0n);
  const { transactions } = await sweep(treasury);
  expect(transactions.filter((each) => each.from === from.address && each.asset === 'USDT')).toEqual([]);
  await expectRefused(from, payer.address, /blacklisted|holds less|no longer holds/);
});

it('the token is deprecated: its transfers are named until its successor is followed', async () => {
  const from = await paid();
  const treasury = newChainAccount().address;
  await act('deprecate', { successor: localUsdtSuccessor });
  await expectNamed(from, treasury, 'deprecated', /deprecated/);
  await expectRefused(from, payer.address, /deprecated/);
});
