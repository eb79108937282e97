// Bandwidth on sale beside energy: a price for rentals up to an hour, and stake of the pool for it.
import { Market } from '../../../src/modules/quotes/market.js';
import { SalesTerms } from '../../../src/modules/quotes/sales-terms.js';
import { PoolSync } from '../../../src/modules/pool/pool-sync.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { until } from '../../../packages/local/src/wait.js';
import { confirmedAct } from '../chain/order-chain.js';
import { keepSelling, type TestApi } from './factory.js';
import type { OrderFixture } from './order-fixture.js';

/** Sun per unit. Burning one costs 1000. */
export const BANDWIDTH_PRICE = 700;
const LIMIT_MS = 30_000;

/** Prices bandwidth. Returns once the API knows the price and the network's stake, which must exist. */
export async function priceBandwidth({ app, database }: TestApi): Promise<void> {
  await database.query(`UPDATE price_row SET sun_per_bandwidth = $1 WHERE duration_max_sec = 3600`, [BANDWIDTH_PRICE]);
  const market = app.get(Market, { strict: false });
  const terms = app.get(SalesTerms, { strict: false });
  const isKnown = () => (market.current().bandwidthRatio?.totalNetWeight ?? 0n) > 0n;
  const isPriced = () => terms.priceRows.some(({ sunPerBandwidth }) => sunPerBandwidth === BigInt(BANDWIDTH_PRICE));
  await until(() => (isKnown() && isPriced()) || undefined, LIMIT_MS, 'the price and the stake of bandwidth');
}

/** Stakes for bandwidth, prices it and fills the pool's slots with it. Needs MARKET_REFRESH_SEC of a second. */
export async function sellBandwidth({ api, chain }: Pick<OrderFixture, 'api' | 'chain'>, trx = 50_000): Promise<void> {
  const body = { frozen_balance: trx * 1_000_000, resource: 'BANDWIDTH' };
  await confirmedAct(chain.fullUrl, chain.pool, 'freezebalancev2', body);
  await priceBandwidth(api);
  await new PoolSync(api.database, api.app.get(TronClient), api.config).syncWallet(chain.pool.address);
  await keepSelling(api.database);
  const terms = api.app.get(SalesTerms, { strict: false });
  await until(() => (terms.poolBandwidthStakeSun ?? 0n) > 0n || undefined, LIMIT_MS, 'the stake of the pool');
}
