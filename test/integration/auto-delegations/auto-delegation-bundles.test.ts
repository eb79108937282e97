// An auto-delegated address with a rental of the merchant's own that has bandwidth beside its energy.
import 'reflect-metadata';
import { bundleOf, buyBundle, faults, legsOf, openBundleFixture } from '../../support/worker/bundle-fixture.js';
import {
  api,
  clearFixture,
  closeFixture,
  pool,
  receivers,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';
import { nextBlock, setAuto } from '../../support/worker/refill-fixture.js';

const ENERGY = 130_000;
const DURATION_SEC = 300;
const receiver = receivers[0]!;

beforeAll(openBundleFixture, START_LIMIT_MS);
afterEach(async () => {
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

interface Bought {
  readonly key: string;
  readonly energy: bigint;
  readonly bandwidth: bigint | null;
  readonly extensions: number;
}

const orders = async (): Promise<Bought[]> =>
  api.database.query<Bought>(
    `SELECT key, energy, bandwidth, extensions FROM orders WHERE receive_address = $1 ORDER BY id`,
    [receiver],
  );

/** A key of the merchant's own may look like one of the auto-delegation. */
it.each([
  ['another key', () => 'bundle-of-my-own'],
  ['a key like those of the auto-delegation', (id: bigint) => `auto_${id.toString()}_mine`],
])(
  'is followed by a rental of energy alone, and is not extended for the price of energy: under %s',
  async (_, keyOf) => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const id = await setAuto(receiver, { duration_sec: DURATION_SEC, keep_energy: ENERGY });
    const [bundle] = [{ receiver, energy: ENERGY, bandwidth: 40_000, durationSec: DURATION_SEC }];
    const key = await buyBundle({ ...bundle, key: keyOf(id) }, worker);
    await worker.advance();
    await nextBlock(worker);
    await nextBlock(worker, SOLID_LAG + 1);
    expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
    const before = (await orders()).length;
    // Continues to a minute before its end.
    await nextBlock(worker, DURATION_SEC / 3 - 10);
    const [rental, next] = (await orders()).slice(before - 1);
    expect(rental).toMatchObject({ key, bandwidth: 40_000n, extensions: 0 });
    expect(next).toMatchObject({ key: `auto_${id.toString()}_1`, bandwidth: null, extensions: 0 });
    await nextBlock(worker, SOLID_LAG + 2);
    expect(await legsOf(next!.key)).toEqual(['rental active']);
    await worker.poolSync().syncWallet(pool.address);
    expect(await faults()).toEqual([]);
  },
);
