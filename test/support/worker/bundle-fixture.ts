// Orders of energy with bandwidth and an activation, on the chain of the fulfilment fixture, whose pool also stakes for
// bandwidth.
import type { ApiError } from '../../../src/domain/errors.js';
import { energy as energyOf } from '../../../src/domain/units.js';
import { OrdersService } from '../../../src/modules/orders/orders.service.js';
import type { ProjectRecord } from '../../../src/platform/http/pipeline/request-context.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { priceBandwidth } from '../api/bandwidth-sale.js';
import { keepSelling } from '../api/factory.js';
import { actAs, type Owner } from '../chain/order-chain.js';
import {
  api,
  customer,
  devnet,
  mine,
  openFixture,
  openFixtureWithTwoWallets,
  pool,
  second,
  type SteppedWorker,
} from './fulfilment-fixture.js';

const TRX = 1_000_000;
const SPARE_TRX = 200_000;
const BANDWIDTH_STAKED_TRX = 100_000;
const MARKET = { MARKET_REFRESH_SEC: '1' };

export async function openBundleFixture(): Promise<void> {
  await openFixture(BigInt(SPARE_TRX * TRX), MARKET);
  await stakeForBandwidth(pool, BANDWIDTH_STAKED_TRX);
  await priceBandwidth(api);
}

/** Two wallets with so much stake for bandwidth that 10,000 units are several TRX, which can be split. */
export async function openBundleFixtureWithTwoWallets(): Promise<void> {
  await openFixtureWithTwoWallets(MARKET, false, BigInt(30_000_000 * TRX));
  for (const wallet of [pool, second]) await stakeForBandwidth(wallet, 20_000_000);
  await priceBandwidth(api);
}

async function stakeForBandwidth(wallet: Owner, trx: number): Promise<void> {
  const body = { owner_address: wallet.address, frozen_balance: trx * TRX, resource: 'BANDWIDTH' };
  await actAs(devnet.fullUrl, wallet, 'freezebalancev2', body);
  await mine(3);
}

export interface BundleRequest {
  readonly receiver: string;
  readonly energy?: number;
  readonly durationSec?: number;
  readonly bandwidth?: number;
  readonly activate?: boolean;
  readonly key?: string;
}

let bought = 0;

/** Buys as POST /v1/orders does. Returns the order's key. Throws ApiError. */
export async function buyBundle(request: BundleRequest, worker?: SteppedWorker): Promise<string> {
  bought += 1;
  const { receiver, energy = 65_000, durationSec = 60, bandwidth, activate } = request;
  const key = request.key ?? `bundle-${bought.toString()}`;
  if (worker !== undefined) await worker.poolSync().syncWallet(pool.address);
  await keepSelling(api.database);
  const project = { id: customer.merchant, isTest: false, requireQuote: false } as ProjectRecord;
  const [row] = await api.database.query<{ id: string }>(`SELECT id FROM api_key WHERE project_id = $1`, [project.id]);
  const accepted = await api.app.get(OrdersService, { strict: false }).create(
    {
      kind: 'direct',
      receiveAddress: receiver,
      energy: energyOf(energy),
      durationSec,
      bandwidth: bandwidth === undefined ? undefined : BigInt(bandwidth),
      activate,
    },
    { project, apiKeyId: row!.id, key: { value: key, isGiven: true }, requestId: key, labels: {} as never },
  );
  return accepted.row.key;
}

/** Returns the code of the refusal. */
export const refusedWith = async (request: BundleRequest): Promise<string> =>
  buyBundle(request).then(
    () => 'taken',
    (error: unknown) => (error as ApiError).code,
  );

interface BundleRow {
  readonly status: string;
  readonly settled: boolean;
  readonly undoing: boolean;
  readonly energy: bigint;
  readonly bandwidth: bigint | null;
  readonly delivered_energy: bigint | null;
  readonly delivered_bandwidth: bigint | null;
  readonly price_sun: bigint;
  readonly credits: bigint;
  readonly activation_credits: bigint | null;
  readonly bandwidth_credits: bigint | null;
  readonly kept_credits: bigint | null;
  readonly error: string | null;
  readonly reclaimed: boolean;
}

export async function bundleOf(key: string): Promise<BundleRow> {
  const [row] = await api.database.query<BundleRow>(
    `SELECT status, settled, undoing, energy, bandwidth, delivered_energy, delivered_bandwidth, price_sun, credits,
        activation_credits, bandwidth_credits, kept_credits, error, reclaimed_at IS NOT NULL AS reclaimed
       FROM orders WHERE key = $1`,
    [key],
  );
  return row!;
}

/** The legs of an order as `kind status`, in their order. */
export async function legsOf(key: string): Promise<readonly string[]> {
  const rows = await api.database.query<{ says: string }>(
    `SELECT l.kind || ' ' || l.status AS says FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1 ORDER BY l.leg_no`,
    [key],
  );
  return rows.map(({ says }) => says);
}

interface LegWallet {
  readonly kind: string;
  readonly wallet: string;
}

/** The legs of an order that were not released, with the addresses of their wallets. */
export async function walletsOf(key: string): Promise<readonly LegWallet[]> {
  return api.database.query<LegWallet>(
    `SELECT l.kind, w.address AS wallet FROM leg l JOIN orders o ON o.id = l.order_id JOIN pool_wallet w ON w.id = l.wallet_id
      WHERE o.key = $1 AND l.status <> 'released' ORDER BY l.leg_no`,
    [key],
  );
}

/** The ledger entries of an order as `kind credits`. */
export async function entriesOf(key: string): Promise<readonly string[]> {
  const rows = await api.database.query<{ says: string }>(
    `SELECT e.kind || ' ' || e.credits AS says FROM credit_entry e JOIN orders o ON o.id = e.order_id WHERE o.key = $1 ORDER BY e.id`,
    [key],
  );
  return rows.map(({ says }) => says);
}

/** The transactions of an order as `purpose kind status`, in the order of their records. */
export async function transactionsOf(key: string): Promise<readonly string[]> {
  const rows = await api.database.query<{ says: string }>(
    `SELECT t.purpose || ' ' || l.kind || ' ' || t.status AS says FROM chain_tx t JOIN leg l ON l.id = t.leg_id
       JOIN orders o ON o.id = t.order_id WHERE o.key = $1 ORDER BY t.id`,
    [key],
  );
  return rows.map(({ says }) => says);
}

export async function balance(): Promise<bigint> {
  const [row] = await api.database.query<{ credits: bigint }>(
    `SELECT balance_credits AS credits FROM credit_account WHERE project_id = $1`,
    [customer.merchant],
  );
  return row!.credits;
}

/** Returns what the project's daily cap counts. */
export async function spentToday(): Promise<bigint> {
  const [row] = await api.database.query<{ credits: bigint }>(
    `SELECT spent_credits AS credits FROM credit_account WHERE project_id = $1`,
    [customer.merchant],
  );
  return row!.credits;
}

/** Returns the stake of a resource that a wallet has delegated to the receiver on chain. */
export async function delegatedOnChain(
  receiver: string,
  resource: 'energy' | 'bandwidth',
  wallet = pool,
): Promise<number> {
  const answer = await fetch(`${devnet.fullUrl}/wallet/getdelegatedresourcev2`, {
    method: 'POST',
    body: JSON.stringify({ fromAddress: wallet.address, toAddress: receiver, visible: true }),
  });
  const { delegatedResource: rows = [] } = (await answer.json()) as { delegatedResource?: Record<string, number>[] };
  return rows.reduce((sum, row) => sum + (row[`frozen_balance_for_${resource}`] ?? 0), 0);
}

/** Advances by one block: the chain, then what the worker reads and does. */
export async function step(worker: SteppedWorker, blocks = 1): Promise<void> {
  for (let block = 0; block < blocks; block += 1) {
    await mine();
    await worker.followChain();
    await worker.advance();
  }
}

/** Returns the findings of `verify` on the records, without those that an unsynced pool has. */
export async function faults(): Promise<readonly string[]> {
  const found = findingsOf(await verifyRecords(api.database, {}));
  return found.map(({ check, subject }) => `${check}: ${subject}`);
}
