// The chain's clock, told wrong: by one node against another, and of a block that stands at another time.
import 'reflect-metadata';
import { until } from '../../src/local/wait.js';
import {
  api,
  clearStage,
  closeStage,
  devnet,
  full,
  Hand,
  mine,
  openStage,
  orderOf,
  receivers,
  rent,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
} from '../protocol-stage.js';

const BLOCK_SEC = 3;
const RENTAL_BLOCKS = 60 / BLOCK_SEC;

beforeAll(openStage, START_LIMIT_MS);
afterEach(async () => {
  await devnet.control('faults/clear', {});
  await clearStage();
}, START_LIMIT_MS);
afterAll(closeStage, START_LIMIT_MS);

const lie = (wrong: 'time-ahead' | 'time-behind', path: string, more: object = {}) =>
  devnet.control('faults', { kind: 'wrong', wrong, path, node: 0, ...more });

async function timesOf(key: string): Promise<{ deliveredAt: Date | null; endsAt: Date | null }> {
  const [row] = await api.database.query<{ deliveredAt: Date | null; endsAt: Date | null }>(
    `SELECT delivered_at AS "deliveredAt", ends_at AS "endsAt" FROM orders WHERE key = $1`,
    [key],
  );
  return row!;
}

async function headTimeMs(): Promise<number> {
  const answer = await fetch(`${devnet.second!.fullUrl}/wallet/getnowblock`, { method: 'POST', body: '{}' });
  const block = (await answer.json()) as { block_header: { raw_data: { timestamp: number } } };
  return block.block_header.raw_data.timestamp;
}

it('a node alone in telling a later time ends no rental', async () => {
  const hand = await Hand.open({
    TRON_FULL_NODE_URLS: `${full.url},${devnet.second!.fullUrl}`,
    TRON_SOLIDITY_NODE_URLS: `${solid.url},${devnet.second!.solidUrl}`,
  });
  const key = await rent(receivers[0]!);
  await mine();
  await hand.look();
  await hand.advance();
  await mine(SOLID_LAG + 1);
  await hand.look();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  await lie('time-ahead', 'wallet/getnowblock');
  await mine();
  await hand.look();
  expect(await hand.end()).toBe(0);
  // Nobody knows how long something new would be valid: nothing is made.
  const other = await rent(receivers[1]!);
  await hand.advance();
  expect(await statusesOf(other)).toEqual([]);
  await devnet.control('faults/clear', {});
  await mine(RENTAL_BLOCKS);
  const ended = async (): Promise<true | undefined> => {
    await hand.look();
    return (await hand.end()) > 0 ? true : undefined;
  };
  await until(ended, 5000, 'the end that both nodes tell of');
  expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  await mine();
  await hand.look();
  await hand.advance();
  expect(await statusesOf(other)).toEqual(['sending']);
});

it('a rental is counted from the time of the final block, whatever a node said of it at first', async () => {
  const hand = await Hand.open();
  const key = await rent(receivers[0]!);
  await mine();
  await hand.look();
  await hand.advance();
  await lie('time-behind', 'wallet/getnowblock', { ms: 50_000 });
  await mine();
  const includedAtMs = await headTimeMs();
  await hand.look();
  expect((await timesOf(key)).deliveredAt?.getTime()).toBe(includedAtMs - 50_000);
  await devnet.control('faults/clear', {});
  await mine(SOLID_LAG + 1);
  await hand.look();
  expect(await orderOf(key)).toMatchObject({ status: 'placed', settled: false });
  await hand.advance();
  expect(await timesOf(key)).toEqual({ deliveredAt: new Date(includedAtMs), endsAt: new Date(includedAtMs + 60_000) });
  await mine();
  await hand.look();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
});
