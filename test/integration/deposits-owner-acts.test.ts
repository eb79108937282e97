// What the owner of the token can do to deposits: blacklist an address, destroy what it holds, deprecate the token.
import 'reflect-metadata';
import { localUsdtSuccessor } from '../../packages/local/src/local-usdt.js';
import { BlockFollower } from '../../src/blocks/block-follower.js';
import { TokenWatch } from '../../src/deposits/token-watch.js';
import { findingsOf } from '../../src/verify/finding.js';
import { verifyRecords } from '../../src/verify/verify.js';
import {
  START_LIMIT_MS,
  type Shop,
  calm,
  closeStage,
  commandLine,
  creditedTo,
  database,
  depositsOf,
  env,
  follow,
  freeTurn,
  openStage,
  openWorker,
  payToken,
  settle,
  shop,
  solid,
  tokenAct,
  unexplained,
  worker,
} from '../deposit-stage.js';
import { cliWith } from '../operator.js';

beforeAll(openStage, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeStage, START_LIMIT_MS);

/** Reads on in a worker that has just started, and so has asked nothing about any address. */
async function readAnew(): Promise<void> {
  const next = await openWorker();
  await freeTurn();
  await follow(next);
  await next.get(BlockFollower).rest();
  await freeTurn();
}

async function blacklisted(): Promise<Shop> {
  const to = await shop();
  await tokenAct('blacklist', { holder: to.address });
  await settle();
  return to;
}

describe('a payment to a blacklisted address', () => {
  it('is held, and credited once the address may send again', async () => {
    const to = await blacklisted();
    await payToken(to, 12_000_000n);
    await settle();
    await readAnew();
    expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'blacklisted' }]);
    expect(await creditedTo(to)).toBe(0n);
    await readAnew();
    expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'blacklisted' }]);
    await tokenAct('unblacklist', { holder: to.address });
    await settle();
    await readAnew();
    expect(await depositsOf(to)).toMatchObject([{ status: 'credited', credits: 120_000_000n }]);
    expect(await creditedTo(to)).toBe(120_000_000n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('that passes the minimum with small ones holds all of them, and all are credited in one entry', async () => {
    const to = await blacklisted();
    for (const amount of [2_000_000n, 4_000_000n]) await payToken(to, amount);
    await settle();
    await readAnew();
    expect(await depositsOf(to)).toMatchObject([
      { status: 'pending', reason: 'blacklisted' },
      { status: 'held', reason: 'blacklisted' },
    ]);
    await tokenAct('unblacklist', { holder: to.address });
    await settle();
    await readAnew();
    expect(await creditedTo(to)).toBe(60_000_000n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });
});

describe('what the owner destroys at a deposit address', () => {
  it('is a movement: the audit agrees, and verify takes it for no theft', async () => {
    const to = await shop();
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

  it('is not credited when the address may send again', async () => {
    const to = await blacklisted();
    await payToken(to, 12_000_000n);
    await settle();
    await readAnew();
    await tokenAct('destroy', { holder: to.address });
    await tokenAct('unblacklist', { holder: to.address });
    await settle();
    await readAnew();
    expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'destroyed' }]);
    expect(await creditedTo(to)).toBe(0n);
  });
});

it('a worker keeps what the owner has set, and which addresses may send nothing', async () => {
  const to = await blacklisted();
  await tokenAct('fees', { basis_points: 10, max_fee: 1 });
  await settle();
  const look = async () => {
    await database.query(`UPDATE token_state SET due_at = clock_timestamp() - interval '1 second'`);
    await (await openWorker()).get(TokenWatch).look();
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

describe('a deprecated token', () => {
  const accept = (...more: string[]) => commandLine('deposits', 'accept-successor', localUsdtSuccessor, ...more);
  const withSuccessor = async (...args: string[]) =>
    cliWith({ ...env, TOKEN_CONTRACT: localUsdtSuccessor, USER: 'tester' })(
      '--json',
      '--yes',
      '--reason',
      'a test',
      ...args,
    );

  it('has its successor accepted on the word of the chain alone, and what was paid since is taken in by a rescan', async () => {
    expect(await accept()).toMatchObject({ code: 1, err: expect.stringContaining('is not deprecated') });
    const to = await shop();
    await payToken(to, 12_000_000n);
    const { blockNumber } = (await tokenAct('deprecate', { successor: localUsdtSuccessor })) as { blockNumber: number };
    await payToken(to, 50_000_000n);
    await settle();
    await follow();
    expect(await depositsOf(to)).toMatchObject([{ amount: '12000000', status: 'credited' }]);
    await (await openWorker()).get(TokenWatch).look();
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
      err: expect.stringContaining(`set TOKEN_CONTRACT=${localUsdtSuccessor}`),
    });
    expect((await withSuccessor('deposits', 'rescan', ...range)).json()).toMatchObject({ found: 1 });
    // A worker that runs with the old setting reads on by the records.
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
});
