// Acts of the token's owner on deposits: blacklisting an address, destroying its funds, deprecating the token.
import 'reflect-metadata';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { localUsdtSuccessor } from '../../../packages/local/src/local-usdt.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { TokenWatch } from '../../../src/modules/deposits/token-watch.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import {
  START_LIMIT_MS,
  type DepositProject,
  calm,
  closeFixture,
  commandLine,
  creditedTo,
  database,
  depositsOf,
  env,
  follow,
  freeTurn,
  mine,
  openFixture,
  openWorker,
  payer,
  payToken,
  payTrx,
  settle,
  newDepositProject,
  signAndSend,
  solid,
  tokenAct,
  tokenOf,
  unexplained,
  worker,
} from '../../support/worker/deposit-fixture.js';
import { cliWith } from '../../support/cli.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

/** Continues in a new worker, which has not asked about any address yet. */
async function readInNewWorker(): Promise<void> {
  const next = await openWorker();
  await freeTurn();
  await follow(next);
  await next.get(BlockFollower).workBetweenBlocks();
  await freeTurn();
}

async function blacklisted(): Promise<DepositProject> {
  const to = await newDepositProject();
  await tokenAct('blacklist', { holder: to.address });
  await settle();
  return to;
}

describe('a payment to a blacklisted address', () => {
  it('is held, and credited once the address may send again', async () => {
    const to = await blacklisted();
    await payToken(to, 12_000_000n);
    await settle();
    await readInNewWorker();
    expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'blacklisted' }]);
    expect(await creditedTo(to)).toBe(0n);
    await readInNewWorker();
    expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'blacklisted' }]);
    await tokenAct('unblacklist', { holder: to.address });
    await settle();
    await readInNewWorker();
    expect(await depositsOf(to)).toMatchObject([{ status: 'credited', credits: 120_000_000n }]);
    expect(await creditedTo(to)).toBe(120_000_000n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('that reaches the minimum with small ones holds all of them, and all are credited in one entry', async () => {
    const to = await blacklisted();
    for (const amount of [2_000_000n, 4_000_000n]) await payToken(to, amount);
    await settle();
    await readInNewWorker();
    expect(await depositsOf(to)).toMatchObject([
      { status: 'pending', reason: 'blacklisted' },
      { status: 'held', reason: 'blacklisted' },
    ]);
    await tokenAct('unblacklist', { holder: to.address });
    await settle();
    await readInNewWorker();
    expect(await creditedTo(to)).toBe(60_000_000n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });
});

describe('tokens that the owner destroys at a deposit address', () => {
  it('are a movement: the audit agrees, and verify reports no theft', async () => {
    const to = await newDepositProject();
    await payToken(to, 12_000_000n);
    await settle();
    await follow();
    await tokenAct('blacklist', { holder: to.address });
    await tokenAct('destroy', { holder: to.address });
    await settle();
    expect(await unexplained()).toEqual([]);
    const rows = await database.query(
      `SELECT kind, asset, amount::text, counterparty FROM deposit_movement WHERE address = $1`,
      [to.address],
    );
    expect(rows).toEqual([{ kind: 'destroyed', asset: 'USDT', amount: '-12000000', counterparty: null }]);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
    expect(await creditedTo(to)).toBe(120_000_000n);
  });

  it('are not credited when the address may send again', async () => {
    const to = await blacklisted();
    await payToken(to, 12_000_000n);
    await settle();
    await readInNewWorker();
    await tokenAct('destroy', { holder: to.address });
    await tokenAct('unblacklist', { holder: to.address });
    await settle();
    await readInNewWorker();
    expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'destroyed' }]);
    expect(await creditedTo(to)).toBe(0n);
  });
});

it('a worker stores the owner’s settings, and the addresses that may send nothing', async () => {
  const to = await blacklisted();
  await tokenAct('fees', { basis_points: 10, max_fee: 1 });
  await settle();
  const look = async () => {
    await database.query(`UPDATE token_state SET due_at = clock_timestamp() - interval '1 second'`);
    await (await openWorker()).get(TokenWatch).checkNextAddresses();
    return database.query(
      `SELECT deprecated, successor, paused, fee_basis_points::text, maximum_fee::text FROM token_state`,
    );
  };
  expect(await look()).toEqual([
    { deprecated: false, successor: null, paused: false, fee_basis_points: '10', maximum_fee: '1000000' },
  ]);
  const listed = () => database.query(`SELECT use FROM blacklisted_address WHERE address = $1`, [to.address]);
  expect(await listed()).toEqual([{ use: 'deposit' }]);
  await tokenAct('fees', { basis_points: 0, max_fee: 0 });
  await tokenAct('unblacklist', { holder: to.address });
  await tokenAct('pause');
  await settle();
  expect(await look()).toMatchObject([{ paused: true, fee_basis_points: '0' }]);
  expect(await listed()).toEqual([]);
  await tokenAct('unpause');
});

interface DoctorLine {
  readonly check: string;
  readonly state: string;
  readonly says: string;
}

/** Returns the doctor's lines on token and sizing, as `check state: sentence`. */
async function doctorLines(more: Record<string, string> = {}): Promise<string[]> {
  const doctor = cliWith({ ...env, SIZING_HOLDER: payer.address, USER: 'tester', ...more });
  const { findings } = (await doctor('doctor', '--json', '--patience', '2')).json() as { findings: DoctorLine[] };
  return findings
    .filter(({ check }) => check === 'token' || check === 'sizing')
    .map(({ check, state, says }) => `${check} ${state}: ${says}`);
}

it('the doctor names the owner’s settings, and the reason why transfers cannot be measured', async () => {
  // Makes the reversals of the previous tests solid.
  await settle();
  const answers = `token ok: ${env['TOKEN_CONTRACT']!} answers like a token.`;
  const measured = expect.stringMatching(/^sizing ok: A token transfer needs 64285 energy, or 130285 to an address/);
  expect(await doctorLines()).toEqual([answers, measured]);
  await tokenAct('fees', { basis_points: 10, max_fee: 1 });
  await tokenAct('pause');
  await settle();
  expect(await doctorLines()).toEqual([
    answers,
    'token warning: The token is paused: all its transfers fail.',
    'token warning: The token deducts a fee of 0.1 % from each transfer, at most 1.000000.',
    'sizing warning: The energy of token transfers cannot be measured: the token is paused by its owner.',
  ]);
  await tokenAct('fees', { basis_points: 0, max_fee: 0 });
  await tokenAct('unpause');
  await settle();
});

interface Planned {
  readonly from: string;
  readonly path: string;
  readonly raw_data_hex: string;
}

describe('a deprecated token', () => {
  let paidBefore: DepositProject;
  const accept = (...more: string[]) => commandLine('deposits', 'accept-successor', localUsdtSuccessor, ...more);
  const withSuccessor = async (...args: string[]) =>
    cliWith({ ...env, TOKEN_CONTRACT: localUsdtSuccessor, USER: 'tester' })(
      '--json',
      '--yes',
      '--reason',
      'a test',
      ...args,
    );

  it('has its successor accepted only by the chain’s evidence, and a rescan records payments since then', async () => {
    expect(await accept()).toMatchObject({ code: 1, err: expect.stringContaining('is not deprecated') });
    const to = (paidBefore = await newDepositProject());
    await payToken(to, 12_000_000n);
    const { blockNumber } = (await tokenAct('deprecate', { successor: localUsdtSuccessor })) as { blockNumber: number };
    await payToken(to, 50_000_000n);
    await settle();
    await follow();
    expect(await depositsOf(to)).toMatchObject([{ amount: '12000000', status: 'credited' }]);
    await (await openWorker()).get(TokenWatch).checkNextAddresses();
    const [ignored] = (await commandLine('deposits', 'ignored', '--merchant', to.id)).json() as object[];
    expect(ignored).toMatchObject({ contract: localUsdtSuccessor, transfers: 1, amount: '50000000' });

    expect(await commandLine('deposits', 'accept-successor', to.address)).toMatchObject({ code: 1 });
    expect(await accept('--from-block', (blockNumber - 1).toString())).toMatchObject({
      code: 1,
      err: expect.stringContaining('has no event in block'),
    });
    expect(await accept('--from-block', blockNumber.toString())).toMatchObject({ code: 0 });
    const range = ['--from', blockNumber.toString(), '--to', (await solid()).toString()];
    expect(await commandLine('deposits', 'rescan', ...range)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Set TOKEN_CONTRACT=${localUsdtSuccessor}`),
    });
    expect((await withSuccessor('deposits', 'rescan', ...range)).json()).toMatchObject({ found: 1 });
    // A running worker with the old setting continues by the records.
    await payToken(to, 7_000_000n);
    await settle();
    await follow(worker);
    expect(await creditedTo(to)).toBe(690_000_000n);
    expect(await database.query(`SELECT contract FROM deposit WHERE project_id = $1 ORDER BY id`, [to.id])).toEqual([
      { contract: env['TOKEN_CONTRACT'] },
      { contract: localUsdtSuccessor },
      { contract: localUsdtSuccessor },
    ]);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('returns and sweeps payments from before its successor, once the setting names that one', async () => {
    const to = paidBefore;
    await payTrx(to, 50_000_000);
    await settle();
    await follow();
    const fault = `token fault: The token is deprecated; its successor is ${localUsdtSuccessor}.`;
    expect(await doctorLines()).toContain(fault);
    expect(await doctorLines({ TOKEN_CONTRACT: localUsdtSuccessor })).not.toContain(fault);
    const [customer, treasury] = [newChainAccount().address, newChainAccount().address];
    const [deposit] = await database.query<{ id: bigint }>(
      `SELECT id FROM deposit WHERE project_id = $1 AND contract = $2`,
      [to.id, env['TOKEN_CONTRACT']],
    );
    const giveBack = ['deposits', 'return', deposit!.id.toString(), '--to', customer];
    const sweep = ['deposits', 'sweep-plan', '--to', treasury];
    const todo = expect.stringContaining(`Set TOKEN_CONTRACT=${localUsdtSuccessor}`);
    for (const args of [giveBack, sweep]) expect(await commandLine(...args)).toMatchObject({ code: 1, err: todo });

    const returned = await withSuccessor(...giveBack);
    expect([returned.code, returned.err]).toEqual([0, '']);
    const { transaction } = returned.json() as { transaction: Planned };
    await signAndSend({ path: transaction.path, rawDataHex: transaction.raw_data_hex });
    await settle();
    await follow();
    expect(await tokenOf(customer)).toBe(12_000_000n);

    const { transactions } = (await withSuccessor(...sweep)).json() as { transactions: Planned[] };
    for (const planned of transactions.filter(({ from }) => from === to.address)) {
      await signAndSend({ path: planned.path, rawDataHex: planned.raw_data_hex });
      await mine(1);
    }
    await settle();
    await follow();
    // The smallest unit of the token stays behind.
    expect([await tokenOf(to.address), await tokenOf(treasury)]).toEqual([1n, 56_999_999n]);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
    expect(await unexplained()).toEqual([]);
  });
});
