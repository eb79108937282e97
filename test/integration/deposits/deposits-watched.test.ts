// `verify` on the balances and outflows of deposit addresses, and TRX paid by contracts with nodes that keep less of
// it.
import 'reflect-metadata';
import { createHash, randomBytes } from 'node:crypto';
import { addressFromHex, addressToHex } from '../../../src/platform/chain/address.js';
import { DepositReturns } from '../../../src/modules/deposits/deposit-returns.js';
import { Rescan } from '../../../src/modules/deposits/rescan.js';
import { Sweeps } from '../../../src/modules/deposits/sweeps.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { callsOf, STAKER, stakeCall, STRICT_CALLER } from '../../devnet/contracts/payers.js';
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
  depositsOf,
  follow,
  idOf,
  idsOf,
  mine,
  openFixture,
  operator,
  payTrx,
  payer,
  rates,
  sendFrom,
  settle,
  newDepositProject,
  signAndSend,
  solid,
  unexplained,
  wallet,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

describe('outflows of a deposit address', () => {
  it('to another party are found until they are explained, even if every balance matches; a sweep and a return are not', async () => {
    const [swept, returned, robbed] = [await newDepositProject(), await newDepositProject(), await newDepositProject()];
    for (const to of [swept, returned, robbed]) await payTrx(to, 40_000_000);
    await settle();
    await follow();
    const treasury = newChainAccount();
    const { transactions } = await operator
      .get(Sweeps)
      .plan({ to: treasury.address, keepSun: 2_000_000n, limit: 100 }, AUTHOR);
    await signAndSend(transactions.find(({ from }) => from === swept.address)!);
    await signAndSend((await operator.get(DepositReturns).make(await idOf(returned), payer.address, AUTHOR)).transfer);
    await settle();
    await follow();
    const found = async (depth: 'everything' | 'newer') => findingsOf(await verifyRecords(database, { depth }));
    for (const depth of ['everything', 'newer'] as const) expect(await found(depth)).toEqual([]);
    const thief = newChainAccount().address;
    const txid = await sendFrom(robbed, thief, 38_000_000n);
    await settle();
    expect(await unexplained()).toEqual([]);
    for (const depth of ['everything', 'newer'] as const) {
      expect(await found(depth)).toMatchObject([
        {
          check: 'deposit-outflows',
          subject: robbed.address,
          facts: { to_address: thief, asset: 'TRX', amount: '38000000', txid },
        },
      ]);
    }
    const [{ fingerprint } = { fingerprint: '' }] = await found('newer');
    expect(await commandLine('verify', 'explain', fingerprint)).toMatchObject({ code: 0 });
    expect(await found('newer')).toEqual([]);
    // Another outflow from the same address is a new finding.
    await sendFrom(robbed, thief, 500_000n);
    await settle();
    await follow();
    expect(await found('newer')).toMatchObject([{ facts: { amount: '500000' } }]);
    expect(await commandLine('verify', 'explain', '--all')).toMatchObject({ code: 0 });
  });
});

it('a return worth less than one credit, of a deposit that carried small ones, removes nothing and is paid once', async () => {
  const to = await newDepositProject();
  // At this rate a sun is worth less than a credit.
  await rates(
    () => 8_000_000n,
    () => 100_000_000n,
  );
  for (const amount of [9_999_999, 1]) {
    await payTrx(to, amount);
    await settle();
  }
  await follow();
  expect(await creditedTo(to)).toBe(8_000_000n);
  const [, carrier] = await idsOf(to, 'TRX');
  const given = await operator.get(DepositReturns).make(carrier!, payer.address, AUTHOR);
  expect(given).toMatchObject({ credits: 0n, isAgain: false, transfer: { amount: 1n } });
  expect(await creditedTo(to)).toBe(8_000_000n);
  await signAndSend(given.transfer);
  await settle();
  await follow();
  await expect(operator.get(DepositReturns).make(carrier!, payer.address, AUTHOR)).rejects.toThrow('on chain');
  expect(findingsOf(await verifyRecords(database))).toEqual([]);
});

it('an explained balance is no finding, up to that amount', async () => {
  const to = await newDepositProject();
  await payTrx(to, 15_000_000);
  await settle();
  await follow();
  const move = async (amount: number): Promise<void> => {
    await database.query(
      `INSERT INTO deposit_movement (txid, kind, place, address, asset, amount, block_number, block_at)
       SELECT decode($1, 'hex'), 'fee', 0, $2, 'TRX', $3, block_number - 1, block_at FROM deposit_cursor`,
      [randomBytes(32).toString('hex'), to.address, amount],
    );
  };
  const full = () => commandLine('verify', '--full', '--settle-within', '0');
  const found = async (): Promise<readonly string[]> => {
    const { checks } = (await full()).json() as { checks: { check: string; findings: { fingerprint: string }[] }[] };
    return checks.flatMap(({ check, findings }) => findings.map(({ fingerprint }) => `${check} ${fingerprint}`));
  };
  await move(-7);
  const before = await found();
  expect(before).toEqual([expect.stringMatching(/^deposit-holdings /)]);
  const [, fingerprint = ''] = before[0]!.split(' ');
  expect(await commandLine('verify', 'explain', fingerprint)).toMatchObject({ code: 0 });
  expect(await full()).toMatchObject({ code: 0 });
  await move(-1);
  expect(await full()).toMatchObject({ code: 1 });
  expect(await found()).toEqual(before);
  await move(8);
  expect(await full()).toMatchObject({ code: 0 });
});

describe('TRX that a contract pays', () => {
  const TRX = 1_000_000;
  const hexOf = (address: string): string => addressToHex(address).toLowerCase();

  async function deploy(bytecode: string): Promise<string> {
    const terms = {
      abi: '[]',
      fee_limit: 1000 * TRX,
      origin_energy_limit: 10_000_000,
      consume_user_resource_percent: 100,
    };
    const txid = await wallet().send(
      'deploycontract',
      { owner_address: payer.address, bytecode, name: 'Test', ...terms },
      payer,
    );
    await mine(1);
    return String((await wallet().receipt(txid))['contract_address']);
  }

  /** A contract freezes stake, then pays. One node keeps all internal transactions, the other only the payments. */
  async function payAfterFreezing(to: DepositProject, ...amounts: number[]): Promise<{ txid: string; by: string }> {
    await chain.control('node', { index: 1, saveInternal: 'transfers' });
    const [by, staker] = [await deploy(STRICT_CALLER), await deploy(STAKER)];
    const data = `00000000${stakeCall('freeze', 2 * TRX)}`;
    const call = {
      function_selector: 'run()',
      parameter: callsOf(
        { to: staker, value: 2 * TRX, data },
        ...amounts.map((value) => ({ to: hexOf(to.address), value })),
      ),
      call_value: amounts.reduce((sum, value) => sum + value, 2 * TRX),
      fee_limit: 1000 * TRX,
    };
    const txid = await wallet().send(
      'triggersmartcontract',
      { owner_address: payer.address, contract_address: addressFromHex(by), ...call },
      payer,
    );
    await settle();
    return { txid, by: addressFromHex(by) };
  }

  afterEach(() => chain.control('node', { index: 1, saveInternal: 'all' }));

  it('after it froze stake is one agreed deposit, whatever entries of the stake a node keeps', async () => {
    const to = await newDepositProject();
    await payAfterFreezing(to, 11 * TRX);
    await follow();
    expect(await depositsOf(to)).toMatchObject([{ status: 'credited', reason: null, amount: '11000000' }]);
    expect(await unexplained()).toEqual([]);
  });

  it('is known under its place from when all entries of a receipt counted, and another one has its own place', async () => {
    const to = await newDepositProject();
    const from = (await solid()) + 1;
    const { txid, by } = await payAfterFreezing(to, 12 * TRX, 13 * TRX);
    // The first payment's place is behind two other entries; the second payment was missed.
    await database.query(
      `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at, status, reason)
       SELECT decode($1, 'hex'), 'internal', 2, $2, $3, $4, 'TRX', 12000000, block_number, block_id, block_at, 'held', 'one_node'
         FROM deposit_cursor`,
      [txid, to.id, to.address, by],
    );
    await follow();
    expect(await operator.get(Rescan).run({ from, to: await solid() })).toMatchObject({ found: 0 });
    expect(await depositsOf(to)).toMatchObject([
      { status: 'held', amount: '12000000' },
      { status: 'credited', amount: '13000000' },
    ]);
    expect(await unexplained()).toEqual([]);
  });
});

it('does not return again what a lost return already paid to the address', async () => {
  const to = await newDepositProject();
  await payTrx(to, 15_000_000);
  await payTrx(to, 15_000_000);
  await settle();
  await follow();
  const id = (await idOf(to)).toString();
  const give = () => commandLine('deposits', 'return', id, '--to', payer.address);
  const { transaction } = (await give()).json() as {
    readonly transaction: { readonly path: string; readonly raw_data_hex: string };
  };
  // A failover to a standby that was one commit behind.
  const key = `adjustment:deposit-${id}-returned`;
  await database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query('DELETE FROM deposit_return WHERE deposit_id = $1', [id]);
    await tx.query(
      `UPDATE credit_account a SET balance_credits = a.balance_credits - e.credits FROM credit_entry e
        WHERE e.entry_key = $1 AND a.project_id = e.project_id`,
      [key],
    );
    await tx.query('DELETE FROM credit_entry WHERE entry_key = $1', [key]);
  });
  await signAndSend({ path: transaction.path, rawDataHex: transaction.raw_data_hex });
  await settle();
  await follow();
  const txid = createHash('sha256').update(Buffer.from(transaction.raw_data_hex, 'hex')).digest('hex');
  const refused = await give();
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(txid);
  // Also once its purpose is known.
  const [, finding = ''] = /verify explain (\w+)/.exec(refused.err) ?? [];
  const explained = await commandLine('verify', 'explain', finding, '--reason', 'a return whose record was lost');
  expect(explained.code).toBe(0);
  const again = await give();
  expect(again.code).toBe(1);
  expect(again.err).toContain(`The transaction ${txid} moved the same amount`);
});
