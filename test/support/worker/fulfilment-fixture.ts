// A worker's parts in this process, a chain that makes a block only on request, and nodes whose traffic a test can
// watch. The chain's clock is years behind ours, so that a rule that mixes the two clocks fails.
import 'reflect-metadata';
import { readFile } from 'node:fs/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { sleep } from '../../../src/platform/support/clock.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { ChainView } from '../../../src/modules/fulfilment/follow/chain-view.js';
import { OrderTermination } from '../../../src/modules/fulfilment/plan/order-termination.js';
import { Follower } from '../../../src/modules/fulfilment/follow/follower.js';
import { OrderAdvancer } from '../../../src/modules/fulfilment/advance/order-advancer.js';
import { Proofs } from '../../../src/modules/fulfilment/send/proof.js';
import { OrphanReclaims } from '../../../src/modules/reconciliation/orphan-reclaims.js';
import { UnrecordedSearch } from '../../../src/modules/reconciliation/unrecorded-search.js';
import { RESOURCES } from '../../../src/domain/resource.js';
import { TOP_UP_TIME_LEFT_MS } from '../../../src/modules/fulfilment/plan/running-rentals.js';
import { TransactionLog } from '../../../src/modules/fulfilment/send/transaction-log.js';
import { WalletHealth } from '../../../src/modules/fulfilment/send/wallet-health.js';
import type { ClaimedOrder } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { OrderClaims } from '../../../src/modules/fulfilment/loop/order-claims.js';
import { PoolSync } from '../../../src/modules/pool/pool-sync.js';
import { openLog } from '../log.js';
import { WorkerModule } from '../../../src/apps/worker/worker.module.js';
import type { Customer } from '../api/client.js';
import { localUsdtContracts } from '../../../packages/local/src/local-usdt.js';
import { childOf, MAKER } from '../../devnet/contracts/maker.js';
import { addWallet, fillPool, keepSelling, makeCustomer, openApi, serviceEnv, type TestApi } from '../api/factory.js';
import { actAs, newOwner, stake, type OrderChain, type Owner } from '../chain/order-chain.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { envAs } from '../../setup/roles.js';
import { openSpyNode, type SpyNode } from '../nodes/spy-node.js';

const YEARS_AGO_MS = Date.UTC(2020, 0, 1);
const SUN_PER_TRX = 1_000_000;
const STAKE_SUN = 900_000_000n * 1_000_000n;
export const START_LIMIT_MS = 180_000;
export const SOLID_LAG = 2;
/** Blocks in sixty seconds of validity, plus those until one beyond is solid. */
export const PAST_VALIDITY = 20 + SOLID_LAG + 2;

let store: TestDatabase;
let redis: TestRedis;
export let env: Record<string, string>;
export let devnet: Devnet;
export let full: SpyNode;
export let solid: SpyNode;
export let api: TestApi;
export let customer: Customer;
const workers: INestApplicationContext[] = [];
export const receivers = Array.from({ length: 4 }, () => newOwner().address);
/** The pool wallet's owner, who may act outside the service. */
export const pool = newOwner();
/** Accounts that use energy by calling a contract. They exist on chain after `openFixtureWithCalls`. */
export const callers = Array.from({ length: 24 }, newOwner);
let callersTaken = 0;
/** Returns a caller that no earlier test of this file has taken. */
export const nextCaller = (): Owner => callers[callersTaken++]!;
/** The called contract: the recorded test token. */
export const contract = newOwner();
/** The reference token, a contract only after `openFixtureWithToken`, and the holder of all of it. */
export const [token, tokenHolder] = [newOwner().address, newOwner()];
/** A second pool wallet with less stake, so that orders use it first. It joins the pool with `openFixtureWithTwoWallets`. */
export const second = newOwner();
const SECOND_SUN = 100_000_000n * 1_000_000n;
export const fixtureDatabaseUrl = (): string => store.url;
const activation = newOwner();

interface TxRow {
  readonly id: bigint;
  readonly status: string;
  readonly txid: string;
  readonly sends: number;
  readonly evidence: { readonly absences: readonly object[]; readonly scanned?: object } | null;
}

/** The parts of one worker. None runs by itself. */
export class SteppedWorker {
  private clockMs = 0;

  private constructor(private readonly context: INestApplicationContext) {}

  static async open(extra: Record<string, string> = {}): Promise<SteppedWorker> {
    const config = readConfig(envAs({ ...env, ...extra }, 'worker'));
    const log = openLog('silent');
    const context = await NestFactory.createApplicationContext(WorkerModule.for(config, log), { logger: false });
    workers.push(context);
    return new SteppedWorker(context);
  }

  orderClaims = () => this.context.get(OrderClaims, { strict: false });
  orderTermination = () => this.context.get(OrderTermination, { strict: false });
  transactionLog = () => this.context.get(TransactionLog, { strict: false });
  proofs = () => this.context.get(Proofs, { strict: false });
  advancer = () => this.context.get(OrderAdvancer, { strict: false });
  chain = () => this.context.get(TronClient, { strict: false });
  health = () => this.context.get(WalletHealth, { strict: false });
  poolSync = () => this.context.get(PoolSync, { strict: false });
  reclaims = () => this.context.get(OrphanReclaims, { strict: false });
  part = <T>(type: abstract new (...args: never[]) => T): T => this.context.get<T>(type, { strict: false });

  /** Closes like a process that received SIGTERM. */
  async close(): Promise<void> {
    const at = workers.indexOf(this.context);
    if (at < 0) return;
    workers.splice(at, 1);
    await this.context.close();
  }

  /** Follows the chain once, as at a new block. */
  async followChain(): Promise<void> {
    const follower = this.context.get(Follower, { strict: false });
    this.clockMs = (await follower.step()).clockMs;
    await follower.settle();
  }

  /** Advances every order that is due now or later by one step. */
  async advance(): Promise<void> {
    await api.database.query(`UPDATE orders SET next_run_at = clock_timestamp() WHERE next_run_at > clock_timestamp()`);
    await this.advancer().advance(await this.orderClaims().claimDue(64));
  }

  /** Searches the newest blocks, as a service without a search cursor does. */
  async search(): Promise<void> {
    await api.database.query(`UPDATE reconcile_state SET scanned_to = NULL`);
    const search = this.context.get(UnrecordedSearch, { strict: false });
    while ((await search.searchNext(true)) !== 0);
  }

  /** Tops up running rentals that fall short of the sold energy or bandwidth, as of the last `followChain`. */
  async topUp(): Promise<number> {
    const { ratio } = this.context.get(ChainView, { strict: false }).current!;
    const endsAfterMs = this.clockMs + TOP_UP_TIME_LEFT_MS;
    let claimed = 0;
    const advance = async (orders: readonly ClaimedOrder[]): Promise<void> => {
      claimed += orders.length;
      await this.advancer().advance(orders);
    };
    for (const resource of RESOURCES) {
      await advance(await this.orderClaims().claimShort(64, resource, ratio, endsAfterMs));
    }
    await advance(await this.claimLost());
    return claimed;
  }

  /** Claims running rentals that must replace energy lost to reclaims, as of the last `followChain`. */
  async claimLost(): Promise<ClaimedOrder[]> {
    return this.orderClaims().claimWithLosses(64, this.clockMs + TOP_UP_TIME_LEFT_MS);
  }

  /** Reclaims rentals that have ended by the chain's clock, as of the last `followChain`. */
  async reclaimEnded(): Promise<number> {
    const ended = await this.orderClaims().claimEnded(this.clockMs, 64);
    await this.advancer().advance(ended);
    return ended.length;
  }
}

export const mine = async (count = 1): Promise<void> => {
  await devnet.control('mine', { count });
};

let bought = 0;

export async function rent(receiver: string, energy = 50_000, durationSec = 60): Promise<string> {
  bought += 1;
  const key = `p-${bought.toString()}`;
  // The pool is synced only on request here, so this keeps it selling.
  await keepSelling(api.database);
  const body = { receive_address: receiver, energy, duration_sec: durationSec };
  const answer = await customer.post('/v1/orders', body, { 'Idempotency-Key': key });
  expect(answer.status).toBe(202);
  return key;
}

interface OrderRow {
  readonly id: bigint;
  readonly status: string;
  readonly settled: boolean;
  readonly undoing: boolean;
  readonly needs_attention: boolean;
}

export async function orderOf(key: string): Promise<OrderRow> {
  const [row] = await api.database.query<OrderRow>(
    'SELECT id, status, settled, undoing, needs_attention FROM orders WHERE key = $1',
    [key],
  );
  return row!;
}

export async function txsOf(key: string, purpose = 'delegate'): Promise<TxRow[]> {
  return api.database.query<TxRow>(
    `SELECT t.id, t.status, encode(t.txid, 'hex') AS txid, t.sends, t.evidence
       FROM chain_tx t JOIN orders o ON o.id = t.order_id WHERE o.key = $1 AND t.purpose = $2 ORDER BY t.attempt`,
    [key, purpose],
  );
}

export const statusesOf = async (key: string, purpose?: string) => (await txsOf(key, purpose)).map((tx) => tx.status);

/** Expires the leases of all claimed orders. */
export async function loseLeases(): Promise<void> {
  await api.database.query(
    `UPDATE orders SET lease_until = lease_until - interval '1 hour', next_run_at = next_run_at - interval '1 hour'
      WHERE lease_until IS NOT NULL`,
  );
}

export async function freeSun(): Promise<bigint> {
  const [row] = await api.database.query<{ sun: bigint }>(
    `SELECT sum(free_sun)::bigint AS sun FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id WHERE w.role = 'pool'`,
  );
  return row!.sun;
}

/** Claims an order regardless of its due time. */
export async function dueAgain(worker: SteppedWorker, orderId: bigint): Promise<ClaimedOrder> {
  await api.database.query('UPDATE orders SET next_run_at = clock_timestamp(), lease_until = NULL WHERE id = $1', [
    orderId,
  ]);
  const [order] = await worker.orderClaims().claimNamed([orderId]);
  return order!;
}

async function stakeNow(owner: Owner, amount: bigint): Promise<void> {
  const staked = stake(devnet.fullUrl, owner, amount).then(() => true);
  // A slow machine may send it late, and no block is made by itself.
  while (!(await Promise.race([staked, sleep(300).then(() => false)]))) await mine(SOLID_LAG + 1);
}

/** `spareSun`: TRX that the pool wallet holds beside its stake, in sun, to burn for bandwidth. */
export const openFixture = (spareSun = SPARE_SUN, extra: Record<string, string> = {}): Promise<void> =>
  open({ spareSun, extra });
export const openFixtureWithTwoWallets = (
  extra: Record<string, string> = {},
  withCalls = false,
  spareSun = SPARE_SUN,
): Promise<void> => open({ withSecond: true, extra, withCalls, spareSun });
/** `extra` adds settings for the API and all workers. */
export const openFixtureWith = (extra: Record<string, string>): Promise<void> => open({ extra });
export const openFixtureWithCalls = (extra: Record<string, string> = {}): Promise<void> =>
  open({ extra, withCalls: true });
/** The reference token uses the energy of main-net USDT. */
export const openFixtureWithToken = (): Promise<void> => open({ withCalls: true, withToken: true });

const SPARE_SUN = 1_000_000_000n;

async function open({
  withSecond = false,
  withCalls = false,
  withToken = false,
  extra = {},
  spareSun = SPARE_SUN,
} = {}): Promise<void> {
  callersTaken = 0;
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  devnet = await startDevnet({
    blockMs: 0,
    solidLag: SOLID_LAG,
    second: { behind: 0, solidLag: SOLID_LAG },
    genesis: {
      timestamp: YEARS_AGO_MS,
      accounts: [
        { address: pool.address, balance: (STAKE_SUN + spareSun).toString() },
        { address: second.address, balance: (SECOND_SUN + spareSun).toString() },
        ...[activation.address, ...(withToken ? [] : [token]), ...receivers].map((address) => ({
          address,
          balance: 1000 * SUN_PER_TRX,
        })),
        ...(withCalls ? [...callers, tokenHolder] : []).map(({ address }) => ({
          address,
          balance: 100_000 * SUN_PER_TRX,
        })),
      ],
      ...(withCalls && {
        contracts: [
          { address: contract.address, origin: activation.address, name: 'Token', bytecode: await bytecode() },
          ...(withToken ? localUsdtContracts({ address: token, holder: tokenHolder.address, owner: tokenHolder }) : []),
        ],
      }),
    },
  });
  [full, solid] = await Promise.all([openSpyNode(devnet.fullUrl), openSpyNode(devnet.solidUrl)]);
  await mine(SOLID_LAG + 1);
  await stakeNow(pool, STAKE_SUN);
  if (withSecond) await stakeNow(second, SECOND_SUN);
  env = {
    ...serviceEnv(store.url, redis.url, { env: {} } as OrderChain),
    TRON_FULL_NODE_URLS: full.url,
    TRON_SOLIDITY_NODE_URLS: solid.url,
    TRON_HEAD_STALL_SEC: '3600',
    TOKEN_CONTRACT: token,
    POOL_ALLOW_WIDE_PERMISSION: `${pool.address},${second.address},${activation.address}`,
    RATE_SOURCES: 'static',
    DURATION_MIN_SEC: '1',
    MARKET_MAX_AGE_SEC: '3600',
    DATABASE_POOL_MAX: '3',
    ...extra,
  };
  api = await openApi(env);
  await fillPool(api, { pool, activation } as OrderChain);
  if (withSecond) await addWallet(api, second, 'pool');
  customer = await makeCustomer(api, 1_000_000_000_000n);
}

async function bytecode(): Promise<string> {
  return (JSON.parse(await readFile('test/tron-node/bytecode.json', 'utf8')) as { bytecode: string }).bytecode;
}

/** Deploys a contract that creates others by CREATE2. Returns its address. */
export async function openMaker(caller: Owner): Promise<string> {
  const terms = { name: 'Maker', abi: '[]', fee_limit: 1_000_000_000, consume_user_resource_percent: 100 };
  const body = { ...terms, bytecode: MAKER, origin_energy_limit: 10_000_000 };
  const txid = await actAs(devnet.fullUrl, caller, 'deploycontract', body);
  await mine();
  const asked = { method: 'POST', body: JSON.stringify({ value: txid, visible: true }) };
  const said = await fetch(`${devnet.fullUrl}/wallet/gettransactioninfobyid`, asked);
  return ((await said.json()) as { contract_address: string }).contract_address;
}

/** Activates the address where `maker` can create a contract with this salt, with 1 TRX. */
export async function openChild(caller: Owner, maker: string, salt: number): Promise<string> {
  const address = childOf(maker, salt);
  await actAs(devnet.fullUrl, caller, 'createtransaction', { to_address: address, amount: SUN_PER_TRX });
  await mine();
  return address;
}

/** Turns the account into a contract. TRON rejects delegations to contracts. */
export async function makeChild(caller: Owner, maker: string, salt: number): Promise<void> {
  await actAs(devnet.fullUrl, caller, 'triggersmartcontract', {
    contract_address: maker,
    function_selector: 'make(uint256)',
    parameter: salt.toString(16).padStart(64, '0'),
    fee_limit: 1_000_000_000,
  });
  await mine();
}

/** Uses about 5 000 energy `times` times in one call, in the next block. Returns the transaction id. */
export async function useEnergy(caller: Owner, times: number): Promise<string> {
  return actAs(devnet.fullUrl, caller, 'triggersmartcontract', {
    contract_address: contract.address,
    function_selector: 'heavy(uint256)',
    parameter: times.toString(16).padStart(64, '0'),
    fee_limit: 1_000_000_000,
  });
}

/**
 * Resets the wallets' failure counts, which no worker does here. Otherwise the dead transactions of several tests would
 * add up and pause the wallet during another test.
 */
async function forgetFailures(): Promise<void> {
  await api.database.query(
    `UPDATE pool_wallet SET sign_failures = 0, deaths = 0, delivery_pauses = 0, delivery_fault = NULL,
       delivery_held_until = NULL`,
  );
}

/** Finishes all work, so that the next test starts clean. */
export async function clearFixture(): Promise<void> {
  full.rest();
  solid.rest();
  const worker = await SteppedWorker.open();
  await forgetFailures();
  for (let round = 0; round < 8; round += 1) {
    await mine(PAST_VALIDITY);
    await worker.followChain();
    await loseLeases();
    await worker.advance();
    await worker.reclaimEnded();
    const left = await api.database.query(
      `SELECT 1 FROM orders o JOIN leg l ON l.order_id = o.id
        WHERE NOT o.settled OR (o.kind = 'rental' AND l.status NOT IN ('released', 'reclaimed')) LIMIT 1`,
    );
    if (left.length === 0) break;
  }
  await forgetFailures();
  // An unsynced wallet sells nothing, and no worker syncs it here.
  await worker.poolSync().syncWallet(pool.address);
  for (const context of workers.splice(0)) await context.close();
}

export async function closeFixture(): Promise<void> {
  await api.close();
  await Promise.all([full.close(), solid.close()]);
  await devnet.stop();
  await redis.close();
  await store.drop();
}

/** Returns an order with a sent delegation that is in no block yet. */
export async function sentOrder(worker: SteppedWorker, receiver = receivers[0]!): Promise<string> {
  const key = await rent(receiver);
  await mine();
  await worker.followChain();
  await worker.advance();
  expect(await statusesOf(key)).toEqual(['sending']);
  return key;
}

export async function settledOrder(worker: SteppedWorker, receiver = receivers[0]!): Promise<string> {
  const key = await sentOrder(worker, receiver);
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  return key;
}
