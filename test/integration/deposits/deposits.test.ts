// Deposits are credited once, at the rate of their own minute, and each project has its own address.
import 'reflect-metadata';
import { pbkdf2Sync } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { AccountKey } from '../../../src/modules/deposits/account-key.js';
import { DepositAddresses } from '../../../src/modules/deposits/deposit-addresses.js';
import { DepositBook } from '../../../src/modules/deposits/deposit-book.js';
import { DepositsModule } from '../../../src/modules/deposits/deposits.module.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Projects } from '../../../src/modules/projects/projects.js';
import { ProjectsModule } from '../../../src/modules/projects/projects.module.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  otherToken,
  BLOCK,
  GENESIS_MS,
  MINUTE_MS,
  START_LIMIT_MS,
  XPUB,
  calm,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  freeTurn,
  infosOf,
  meddle,
  mine,
  open,
  openFixture,
  openWorker,
  operator,
  payToken,
  payTrx,
  payer,
  laterRate,
  rates,
  settle,
  newDepositProject,
  spies,
  wallet,
  worker,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

describe('a payment', () => {
  it('in TRX and one in USDT are credited once, when their block is solid', async () => {
    const to = await newDepositProject();
    await payTrx(to, 12_345_678);
    await mine(1);
    await follow();
    expect(await depositsOf(to)).toEqual([]);
    await payToken(to, 7_000_001n);
    await settle();
    await follow();
    // 12.345678 TRX at 0.30, and 7.000001 USDT at 1.
    expect(await depositsOf(to)).toEqual([
      { status: 'credited', reason: null, asset: 'TRX', amount: '12345678', credits: 37_037_034n },
      { status: 'credited', reason: null, asset: 'USDT', amount: '7000001', credits: 70_000_010n },
    ]);
    expect(await creditedTo(to)).toBe(107_037_044n);
    await freeTurn();
    await follow();
    expect(await creditedTo(to)).toBe(107_037_044n);
  });

  it('is in an event, as in the database', async () => {
    const to = await newDepositProject();
    await payTrx(to, 20_000_000);
    await settle();
    await follow();
    while ((await worker.get(Numberer).numberBatch()) > 0);
    const [event] = await database.query<{ payload: string }>(
      `SELECT payload FROM event WHERE project_id = $1 AND type = 'deposit.credited'`,
      [to.id],
    );
    expect(JSON.parse(event!.payload)).toMatchObject({
      type: 'deposit.credited',
      data: {
        deposit: {
          asset: 'TRX',
          amount: '20.000000',
          status: 'credited',
          usd_rate: '0.30000000',
          credits: 60_000_000,
          address: to.address,
          from_address: payer.address,
        },
      },
    });
  });

  it('is also credited to frozen and postpaid projects', async () => {
    const to = await newDepositProject();
    await operator.get(Ledger).setFrozen(to.id, true, AUTHOR);
    await payTrx(to, 10_000_000);
    await settle();
    await follow();
    expect(await creditedTo(to)).toBe(30_000_000n);
  });

  it('of another token is counted by day, without an event', async () => {
    const to = await newDepositProject();
    await payToken(to, 7_000_000n, otherToken);
    await payToken(to, 8_000_000n, otherToken);
    await settle();
    await follow();
    expect(await depositsOf(to)).toEqual([]);
    expect(await creditedTo(to)).toBe(0n);
    const counted = await database.query(`SELECT contract, transfers FROM ignored_transfer WHERE address = $1`, [
      to.address,
    ]);
    expect(counted).toEqual([{ contract: otherToken, transfers: 2n }]);
  });

  it('made twice to one address by one transaction is two deposits', async () => {
    const to = await newDepositProject();
    meddle(spies, (path, answer) =>
      path === BLOCK ? answer : infosOf(answer).map((info) => ({ ...info, log: twice(info['log']) })),
    );
    await payToken(to, 6_000_000n);
    await settle();
    await follow();
    expect(await depositsOf(to)).toHaveLength(2);
    expect(await creditedTo(to)).toBe(120_000_000n);
  });

  const twice = (list: unknown): unknown =>
    Array.isArray(list) ? [...(list as unknown[]), ...(list as unknown[])] : list;

  it('from one of our own addresses is no payment', async () => {
    const to = await newDepositProject();
    await database.query(
      `INSERT INTO pool_wallet (address, role, permission_id, key_address, key_sealed) VALUES ($1, 'pool', 0, $1, '\\x00')`,
      [payer.address],
    );
    await payTrx(to, 20_000_000);
    await settle();
    await follow();
    await database.query(`ALTER TABLE pool_wallet DISABLE TRIGGER pool_wallet_kept`);
    await database.query(`DELETE FROM pool_wallet WHERE address = $1`, [payer.address]);
    await database.query(`ALTER TABLE pool_wallet ENABLE TRIGGER pool_wallet_kept`);
    expect(await depositsOf(to)).toEqual([]);
  });
});

describe('small payments', () => {
  it('wait until their sum reaches the minimum, each at its own rate', async () => {
    const [to, other] = [await newDepositProject(), await newDepositProject()];
    for (const amount of [4_000_000, 5_999_999]) {
      await payTrx(to, amount);
      await settle();
      await follow();
    }
    await payTrx(other, 9_000_000);
    await payToken(to, 4_999_999n);
    await settle();
    await follow();
    expect(await creditedTo(to)).toBe(0n);
    await rates(
      () => 31_000_000n,
      () => 100_000_000n,
    );
    await payTrx(to, 1);
    await settle();
    await follow();
    const deposits = await depositsOf(to);
    expect(deposits.map(({ status, asset }) => `${asset} ${status}`)).toEqual([
      'TRX credited',
      'TRX credited',
      'USDT pending',
      'TRX credited',
    ]);
    // 9.999999 TRX at 0.30 and 0.000001 at 0.31, rounded down once.
    expect(await creditedTo(to)).toBe(30_000_000n);
    expect(await creditedTo(other)).toBe(0n);
  });

  it('by the hundred in one block are one entry, and later ones wait again', async () => {
    const to = await newDepositProject();
    for (let payment = 0; payment < 12; payment += 1) await payTrx(to, 1_000_000 + payment);
    await settle();
    await follow();
    const deposits = await depositsOf(to);
    expect(deposits.filter(({ status }) => status === 'credited')).toHaveLength(10);
    expect(deposits.filter(({ reason }) => reason === 'below_minimum')).toHaveLength(2);
    const entries = await database.query(`SELECT credits FROM credit_entry WHERE project_id = $1`, [to.id]);
    expect(entries).toHaveLength(1);
    const credited = deposits
      .filter(({ status }) => status === 'credited')
      .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    expect(await creditedTo(to)).toBe(credited * 3n);
  });
});

describe('the rate', () => {
  it('is that of the block’s minute, whenever it is read', async () => {
    const to = await newDepositProject();
    const head = (await wallet().headTime()) + 3000;
    const minute = Math.floor((head - GENESIS_MS) / MINUTE_MS);
    await rates(
      (each) => (each === minute ? 32_000_000n : 30_000_000n),
      () => 100_000_000n,
    );
    await payTrx(to, 10_000_000);
    await settle();
    await mine(60);
    await follow();
    expect(await creditedTo(to)).toBe(32_000_000n);
  });

  it('is awaited, and the deposit credited once there is one', async () => {
    const to = await newDepositProject();
    await rates(
      () => undefined,
      () => undefined,
    );
    await payTrx(to, 10_000_000);
    await settle();
    // A worker whose exchange does not answer: a worker with a rate would store it at each minute.
    await freeTurn();
    await follow(await openWorker({ RATE_SOURCES: 'binance', RATE_SOURCE_URLS: 'binance=http://127.0.0.1:1' }));
    expect(await depositsOf(to)).toMatchObject([{ status: 'pending', reason: 'no_rate' }]);
    await freeTurn();
    await rates(
      (minute) => (minute > 100 ? 29_000_000n : undefined),
      () => 100_000_000n,
    );
    await follow();
    expect(await depositsOf(to)).toMatchObject([{ status: 'credited', credits: 29_000_000n }]);
    await follow();
    expect(await creditedTo(to)).toBe(29_000_000n);
  });

  it.each([
    ['above', 34_000_000n],
    ['below', 26_000_000n],
  ])('that is more than a tenth %s the median of a day holds the deposit for the operator', async (_where, rate) => {
    const [to, other] = [await newDepositProject(), await newDepositProject()];
    const minute = Math.floor(((await wallet().headTime()) + 3000 - GENESIS_MS) / MINUTE_MS);
    await rates(
      (each) => (each >= minute ? rate : 30_000_000n),
      () => 100_000_000n,
    );
    await payTrx(to, 10_000_000);
    await payTrx(other, 10_000_000);
    await settle();
    await follow();
    const [held] = await database.query<{ id: bigint; reason: string }>(
      `SELECT id, reason FROM deposit WHERE project_id = $1 AND status = 'held'`,
      [to.id],
    );
    expect(held).toMatchObject({ reason: 'rate_jump' });
    expect(await creditedTo(to)).toBe(0n);
    const book = operator.get(DepositBook);
    await book.resolveHeld(held!.id, true, AUTHOR);
    expect(await creditedTo(to)).toBe(rate);
    await expect(book.resolveHeld(held!.id, true, AUTHOR)).rejects.toThrow('is credited, not held');
    const [second] = await database.query<{ id: bigint }>(`SELECT id FROM deposit WHERE project_id = $1`, [other.id]);
    await book.resolveHeld(second!.id, false, AUTHOR);
    expect(await depositsOf(other)).toMatchObject([{ status: 'ignored', reason: AUTHOR.reason }]);
    expect(await creditedTo(other)).toBe(0n);
  });

  it('of USDT is never above a dollar, and below 0.99 the deposit waits', async () => {
    const [dear, cheap, lost] = [await newDepositProject(), await newDepositProject(), await newDepositProject()];
    for (const [to, rate] of [
      [dear, 101_000_000n],
      [cheap, 99_500_000n],
      [lost, 98_900_000n],
    ] as const) {
      await rates(
        () => 30_000_000n,
        () => rate,
      );
      await payToken(to, 10_000_000n);
      await settle();
      await follow();
    }
    expect(await creditedTo(dear)).toBe(100_000_000n);
    expect(await creditedTo(cheap)).toBe(99_500_000n);
    expect(await depositsOf(lost)).toMatchObject([{ status: 'pending', reason: 'below_peg' }]);
    // Its own minute keeps its rate; a later one is worth a dollar again.
    await laterRate('USDT', 99_200_000n);
    await follow();
    expect(await creditedTo(lost)).toBe(99_200_000n);
  });

  it('awaited by more deposits than one step decides keeps none waiting that has one', async () => {
    const [poor, rich] = [await newDepositProject(), await newDepositProject()];
    await rates(
      () => 30_000_000n,
      () => 98_000_000n,
    );
    await payToken(poor, 10_000_000n);
    await settle();
    await follow();
    await database.query(
      `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id,
                            block_at, status, reason, contract)
       SELECT sha256(n::text::bytea), kind, place, project_id, address, from_address, asset, amount, block_number, block_id,
              block_at, status, reason, contract FROM deposit, generate_series(1, 250) n WHERE project_id = $1`,
      [poor.id],
    );
    await database.query(`DELETE FROM asset_rate WHERE asset = 'TRX'`);
    await payTrx(rich, 40_000_000);
    await settle();
    await follow();
    expect(await depositsOf(rich)).toMatchObject([{ status: 'pending', reason: 'no_rate' }]);
    await laterRate('TRX', 30_000_000n);
    await follow();
    expect(await creditedTo(rich)).toBe(120_000_000n);
    // All 251 deposits waited, because USDT was below the peg.
    expect(await depositsOf(poor)).toHaveLength(251);
    await laterRate('USDT', 100_000_000n);
    for (let turn = 0; turn < 2; turn += 1) await follow();
    expect(await creditedTo(poor)).toBe(251n * 100_000_000n);
  });
});

describe('addresses', () => {
  it('are those of the key, one per project, and are shown only while the key derives them', async () => {
    const key = AccountKey.read(XPUB);
    const addresses = operator.get(DepositAddresses);
    const rows = await addresses.list();
    expect(rows.map(({ place, address }) => [place, address])).toEqual(
      rows.map((_, index) => [BigInt(index), key.addressAt(index)]),
    );
    expect(await addresses.listMismatched()).toEqual([]);
    const to = await newDepositProject();
    await database.query(`ALTER TABLE deposit_address DISABLE TRIGGER deposit_address_kept`);
    await database.query(`UPDATE deposit_address SET address = $1 WHERE project_id = $2`, [
      newChainAccount().address,
      to.id,
    ]);
    await database.query(`ALTER TABLE deposit_address ENABLE TRIGGER deposit_address_kept`);
    await expect(addresses.addressOf(to.id)).rejects.toThrow('differs from the assigned one');
    expect(await addresses.listMismatched()).toHaveLength(1);
  });

  it('never change and are never deleted', async () => {
    const { id } = await newDepositProject();
    for (const statement of [`UPDATE deposit_address SET place = place + 100000`, `DELETE FROM deposit_address`]) {
      await expect(database.query(`${statement} WHERE project_id = $1`, [id])).rejects.toThrow('append-only');
    }
  });

  it('are assigned to older projects in the order of their creation, even by two concurrent commands', async () => {
    const older = await openOlder(5);
    const addresses = operator.get(DepositAddresses);
    await Promise.all([addresses.assignMissing(), addresses.assignMissing()]);
    const places = await database.query<{ project_id: string }>(
      `SELECT project_id FROM deposit_address WHERE project_id = ANY ($1) ORDER BY place`,
      [older],
    );
    expect(places.map(({ project_id }) => project_id)).toEqual(older);
    expect(await addresses.assignMissing()).toBe(0);
  });

  it('of an account begun with another key are refused', async () => {
    const root = HDKey.fromMasterSeed(pbkdf2Sync('another', 'mnemonic', 2048, 64, 'sha512'));
    const other = await open('cli', [DepositsModule], { DEPOSIT_XPUB: root.derive("m/44'/195'/3'").publicExtendedKey });
    await expect(other.get(DepositAddresses).assignMissing()).rejects.toThrow('differs from the key');
  });

  it('exist for every project: without the key, none is created where deposits are in use, except for tests', async () => {
    const without = (await open('cli', [ProjectsModule], { DEPOSIT_XPUB: '' })).get(Projects);
    const count = () => database.query(`SELECT count(*) FROM project`);
    const before = await count();
    await expect(without.create('shop', { kind: 'prepaid' }, AUTHOR)).rejects.toThrow('DEPOSIT_XPUB');
    expect(await count()).toEqual(before);
    await expect(without.create('test', { kind: 'prepaid' }, AUTHOR, true)).resolves.toHaveProperty('id');
  });
});

/** Creates projects without deposit addresses: their deposit account is not in use yet. */
async function openOlder(count: number): Promise<string[]> {
  const root = HDKey.fromMasterSeed(pbkdf2Sync('a later one', 'mnemonic', 2048, 64, 'sha512'));
  const app = await open('cli', [ProjectsModule], { DEPOSIT_XPUB: root.derive("m/44'/195'/4'").publicExtendedKey });
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) {
    ids.push((await app.get(Projects).create('older', { kind: 'prepaid' }, AUTHOR)).id);
  }
  return ids;
}
