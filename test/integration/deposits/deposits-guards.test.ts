// Guards against lost or blocked deposits: full balances, payments from own addresses, new accounts.
import 'reflect-metadata';
import { pbkdf2Sync, randomUUID } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { DepositAddresses } from '../../../src/modules/deposits/deposit-addresses.js';
import { DepositBook } from '../../../src/modules/deposits/deposit-book.js';
import { DepositReturns } from '../../../src/modules/deposits/deposit-returns.js';
import { credits } from '../../../src/domain/units.js';
import { ProjectsModule } from '../../../src/modules/projects/projects.module.js';
import { Project } from '../../../src/platform/database/entities/project.entity.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  GENESIS_MS,
  START_LIMIT_MS,
  calm,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  idOf,
  open,
  openFixture,
  operator,
  payer,
  payTrx,
  settle,
  newDepositProject,
} from '../../support/worker/deposit-fixture.js';
import { untilWaiting } from '../../setup/waiting.js';

const CREDITS_MAX = 2n ** 53n - 1n;

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

describe('a payment', () => {
  it('that the balance cannot hold is held, and others’ payments in the same block are credited', async () => {
    const [full, other] = [await newDepositProject(), await newDepositProject()];
    const ledger = operator.get(Ledger);
    await ledger.topUp(full.id, credits(CREDITS_MAX - 25_000_000n), 'all of it', AUTHOR);
    const three = [await payTrx(full, 10_000_000), await payTrx(full, 11_000_000), await payTrx(other, 10_000_000)];
    expect(three).toHaveLength(3);
    await settle();
    await follow();
    expect(await depositsOf(full)).toMatchObject([
      { status: 'held', reason: 'amount' },
      { status: 'held', reason: 'amount' },
    ]);
    expect(await creditedTo(other)).toBe(30_000_000n);
    const [{ id } = { id: 0n }] = await database.query<{ id: bigint }>(
      `SELECT id FROM deposit WHERE project_id = $1 ORDER BY id`,
      [full.id],
    );
    await expect(operator.get(DepositBook).resolveHeld(id, true, AUTHOR)).rejects.toThrow('would exceed 2^53');
    await ledger.adjust(full.id, credits(-6_000_000n), 'room for it', AUTHOR);
    expect(await operator.get(DepositBook).resolveHeld(id, true, AUTHOR)).toBe(30_000_000n);
  });

  it('of more than a hundred million dollars is held, although the balance could hold it', async () => {
    const [large, larger] = [await newDepositProject(), await newDepositProject()];
    await payTrx(large, 300_000_000_000_000);
    await payTrx(larger, 400_000_000_000_000);
    await settle();
    await follow();
    expect(await creditedTo(large)).toBe(900_000_000_000_000n);
    expect(await depositsOf(larger)).toMatchObject([{ status: 'held', reason: 'amount' }]);
  });
});

describe('addresses', () => {
  it('exist for every project, even one created while the account is begun', async () => {
    const root = HDKey.fromMasterSeed(pbkdf2Sync('begun meanwhile', 'mnemonic', 2048, 64, 'sha512'));
    const xpub = root.derive("m/44'/195'/5'").publicExtendedKey;
    const addresses = (await open('cli', [ProjectsModule], { DEPOSIT_XPUB: xpub })).get(DepositAddresses);
    const head = { number: 1n, id: 'ab'.repeat(32), timestampMs: GENESIS_MS };
    const id = randomUUID();
    const begun = await database.transaction(async (tx) => {
      await tx.repository(Project).insert({ id, name: 'being made', apiKeySealed: Buffer.alloc(1) });
      await addresses.assignNew(tx, id);
      const state = { isBegun: false };
      const beginning = addresses.useAccount(head as never, AUTHOR).finally(() => (state.isBegun = true));
      const whole = beginning.then(async () => {
        while ((await addresses.assignMissing()) > 0);
      });
      await untilWaiting(database, 1, () => state.isBegun);
      if (state.isBegun) await whole;
      return { whole };
    });
    await begun.whole;
    expect(await database.query(`SELECT FROM deposit_address WHERE project_id = $1`, [id])).toHaveLength(1);
  });
});

describe('a return', () => {
  const returns = () => operator.get(DepositReturns);

  it('goes to no address of the service, where it would be credited to no project or move nothing', async () => {
    const [to, other] = [await newDepositProject(), await newDepositProject()];
    await payTrx(to, 40_000_000);
    await settle();
    await follow();
    const id = await idOf(to);
    for (const own of [other.address, to.address]) {
      await expect(returns().make(id, own, AUTHOR)).rejects.toThrow('is an address of this service');
    }
    expect(await creditedTo(to)).toBe(120_000_000n);
    expect(await database.query(`SELECT FROM deposit_return WHERE deposit_id = $1`, [id])).toEqual([]);
  });

  it('is made again only once a block after its expiration was read', async () => {
    const to = await newDepositProject();
    await payTrx(to, 40_000_000);
    await settle();
    await follow();
    const id = await idOf(to);
    const make = () => returns().make(id, payer.address, AUTHOR);
    await make();
    const expireBefore = (sec: number) =>
      database.query(
        `UPDATE deposit_return SET expires_at = c.block_at - $2 * interval '1 second' FROM deposit_cursor c WHERE deposit_id = $1`,
        [id, sec],
      );
    await expireBefore(0);
    await expect(make()).rejects.toThrow('may still be sent');
    await expireBefore(1);
    expect(await make()).toMatchObject({ isAgain: true });
  });
});
