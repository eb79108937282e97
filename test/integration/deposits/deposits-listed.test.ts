// The worker asks about the blacklist for the payments that it decides on, however many others wait.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import {
  START_LIMIT_MS,
  type DepositProject,
  calm,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  freeTurn,
  laterRate,
  mine,
  openFixture,
  openWorker,
  newDepositProject,
  tokenAct,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

const MANY = 250;

/** Inserts payments of 20 USDT that wait for a rate. */
const unrated = ({ id, address }: DepositProject, count: number) =>
  database.query(
    `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, contract, amount, block_number, block_id,
        block_at, status, reason)
     SELECT sha256(convert_to($1 || n, 'UTF8')), 'log', 0, $2, $3, 'T', 'USDT', t.contract, 20000000, c.block_number, c.block_id,
        c.block_at, 'pending', 'no_rate' FROM generate_series(1, $4::integer) n CROSS JOIN deposit_cursor c CROSS JOIN deposit_token t`,
    [randomBytes(8).toString('hex'), id, address, count],
  );

it('a payment that waited for a rate is held for its blacklisted address, though many of another project wait too', async () => {
  const [one, other] = [await newDepositProject(), await newDepositProject()];
  const [many, to] = one.id < other.id ? [one, other] : [other, one];
  await mine(3);
  await follow();
  await tokenAct('blacklist', { holder: to.address });
  await mine(3);
  await unrated(to, 1);
  await unrated(many, MANY);
  await laterRate('USDT', 100_000_000n);
  const next = await openWorker();
  await freeTurn();
  await follow(next);
  expect(await creditedTo(many)).toBeGreaterThan(0n);
  expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'blacklisted' }]);
});
