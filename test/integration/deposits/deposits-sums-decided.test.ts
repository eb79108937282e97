// An operator decides on a held sum while the worker still passes its hold on to the sum's deposits.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { until } from '../../../packages/local/src/wait.js';
import { HeldDeposits } from '../../../src/modules/deposits/held-deposits.js';
import { settleClosedSums } from '../../../src/modules/deposits/small-sums.js';
import { Database } from '../../../src/platform/database/database.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  START_LIMIT_MS,
  calm,
  closeFixture,
  database,
  follow,
  mine,
  openFixture,
  newDepositProject,
  operator,
  worker,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

const SMALL = 1200;
const AFTER_HOLDING = /^(lock_closed|mark_settled)_sums$/;

it('each deposit of a held sum gets the decision that came while it was being held', async () => {
  const { id, address } = await newDepositProject();
  await mine(3);
  await follow();
  const [sum] = await database.query<{ id: bigint }>(
    `INSERT INTO deposit_sum (project_id, asset, wait_reason, amount, worth) VALUES ($1, 'TRX', 'below_minimum', $2, $2::numeric * 30000000)
      RETURNING id`,
    [id, SMALL],
  );
  const insert = `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id,
      block_at, status, reason, rate_e8, sum_id)
    SELECT sha256(convert_to($1 || n, 'UTF8')), 'native', 0, $2, $3, 'T', 'TRX', $4, c.block_number, c.block_id, c.block_at,
      $5, $6, 30000000, $7 FROM generate_series(1, $8::integer) n CROSS JOIN deposit_cursor c RETURNING id, encode(txid, 'hex') AS txid`;
  const unique = randomBytes(8).toString('hex');
  await database.query(insert, [unique, id, address, 1, 'pending', 'below_minimum', sum!.id, SMALL]);
  const [held] = await database.query<{ id: bigint; txid: string }>(insert, [
    ...[`held ${unique}`, id, address, 9_999_000, 'held', 'amount', null, 1],
  ]);
  await database.query(`UPDATE deposit_sum SET entry_key = $2, decision = 'held', reason = 'amount' WHERE id = $1`, [
    sum!.id,
    `deposit:${held!.txid}:native:0`,
  ]);
  for (let step = 0; step < 2; step += 1) await database.transaction((tx) => settleClosedSums(tx));
  let deciding: Promise<unknown> | undefined;
  let decided = (): void => undefined;
  const isDecided = new Promise<void>((resolve) => (decided = resolve));
  // The last step of holding, with the operator's decision between its statements.
  await worker.get(Database).transaction(async (tx) => {
    await settleClosedSums({
      ...tx,
      query: async (statement, params) => {
        if (typeof statement !== 'string' && AFTER_HOLDING.test(statement.name ?? '') && deciding === undefined) {
          deciding = operator.get(Database).transaction(async (of) => {
            await operator.get(HeldDeposits).resolve(of, held!.id, { isCredited: true, author: AUTHOR });
            decided();
            await until(
              async () => {
                const waiting = await database.query(
                  `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
                );
                return waiting.length > 0 ? true : undefined;
              },
              1500,
              'the worker to wait',
              20,
            ).catch(() => undefined);
          });
          await isDecided;
        }
        return tx.query(statement, params);
      },
    });
  });
  await deciding;
  for (let step = 0; step < 4; step += 1) await database.transaction((tx) => settleClosedSums(tx));
  const states = await database.query(
    `SELECT status, count(*)::integer AS count FROM deposit WHERE project_id = $1 GROUP BY status`,
    [id],
  );
  expect(states).toEqual([{ status: 'credited', count: SMALL + 1 }]);
});
