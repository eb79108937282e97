// A worker with two nodes of one chain, and steps that repeat until a condition holds.
import { until } from '../../../packages/local/src/wait.js';
import {
  api,
  devnet,
  full,
  SteppedWorker,
  loseLeases,
  mine,
  pool,
  receivers,
  rent,
  solid,
  statusesOf,
} from '../worker/fulfilment-fixture.js';

export const INFO = 'walletsolidity/gettransactioninfobyid';
export const MOVE_LIMIT_MS = 10_000;

/** Returns settings of two nodes: the first one behind the spy proxy, the second one the chain's own. */
export const TWO_NODES = () => ({
  TRON_FULL_NODE_URLS: `${full.url},${devnet.second!.fullUrl}`,
  TRON_SOLIDITY_NODE_URLS: `${solid.url},${devnet.second!.solidUrl}`,
  TRON_POLL_MS: '50',
});
/** Returns settings of two nodes: the second one is behind the spy proxy. */
export const OTHER_WAY_ROUND = () => ({
  TRON_FULL_NODE_URLS: `${devnet.second!.fullUrl},${full.url}`,
  TRON_SOLIDITY_NODE_URLS: `${devnet.second!.solidUrl},${solid.url}`,
});
export const withTwoNodes = (extra: Record<string, string> = {}): Promise<SteppedWorker> =>
  SteppedWorker.open({ ...TWO_NODES(), ...extra });

export async function sent(worker: SteppedWorker): Promise<string> {
  // Consecutive deaths pause a wallet, and these tests cause them on purpose.
  await api.database.query(
    'UPDATE pool_wallet SET deaths = 0, delivery_pauses = 0, delivery_held_until = NULL, delivery_fault = NULL',
  );
  await worker.poolSync().syncWallet(pool.address);
  const key = await rent(receivers[0]!);
  await mine();
  await worker.followChain();
  await worker.advance();
  expect(await statusesOf(key)).toEqual(['sending']);
  return key;
}

/** Follows blocks and advances orders until `isSo` returns true. */
export async function eventually(worker: SteppedWorker, isSo: () => Promise<boolean>, what: string): Promise<void> {
  await until(
    async () => {
      await loseLeases();
      await worker.followChain();
      await worker.advance();
      return (await isSo()) ? true : undefined;
    },
    MOVE_LIMIT_MS,
    what,
    100,
  );
}
