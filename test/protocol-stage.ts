// A worker's parts in this process, a chain that makes a block only when asked, and nodes that can be looked over the
// shoulder. The chain's clock is years behind ours, so that no rule can mix the two up.
import 'reflect-metadata';
import { readFile } from 'node:fs/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { sleep } from '../src/base/clock.js';
import { TronClient } from '../src/chain/tron.client.js';
import { readConfig } from '../src/config/config.js';
import { ChainView } from '../src/fulfilment/follow/chain-view.js';
import { OrderTermination } from '../src/fulfilment/plan/order-termination.js';
import { Follower } from '../src/fulfilment/follow/follower.js';
import { OrderAdvancer } from '../src/fulfilment/loop/order-advancer.js';
import { Proofs } from '../src/fulfilment/send/proof.js';
import { OrphanReclaims } from '../src/reconciliation/orphan-reclaims.js';
import { UnrecordedSearch } from '../src/reconciliation/unrecorded-search.js';
import { shortBelowE6, TOP_UP_TIME_LEFT_MS } from '../src/fulfilment/plan/running-rentals.js';
import { TransactionLog } from '../src/fulfilment/send/transaction-log.js';
import { WalletHealth } from '../src/fulfilment/send/wallet-health.js';
import type { ClaimedOrder } from '../src/fulfilment/loop/claimed-order.js';
import { OrderClaims } from '../src/fulfilment/loop/order-claims.js';
import { PoolSync } from '../src/pool/pool-sync.js';
import { openLog } from './log.js';
import { WorkerModule } from '../src/worker.module.js';
import type { Customer } from './client.js';
import { childOf, MAKER } from './devnet/contracts/maker.js';
import { addWallet, fillPool, keepSelling, makeCustomer, openApi, serviceEnv, type TestApi } from './factory.js';
import { actAs, newOwner, stake, type OrderChain, type Owner } from './order-chain.js';
import { createTestDatabase, type TestDatabase } from './setup/database.js';
import { startDevnet, type Devnet } from './setup/devnet.js';
import { createTestRedis, type TestRedis } from './setup/redis.js';
import { envAs } from './setup/roles.js';
import { openSpyNode, type SpyNode } from './spy-node.js';

const YEARS_AGO_MS = Date.UTC(2020, 0, 1);
const SUN_PER_TRX = 1_000_000;
const STAKE_SUN = 900_000_000n * 1_000_000n;
export const START_LIMIT_MS = 180_000;
export const SOLID_LAG = 2;
/** Sixty seconds of validity in blocks, and on to a solid one beyond. */
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
/** The pool wallet's own owner, who may act beside the service. */
export const pool = newOwner();
/** Accounts that use energy, by calls of a contract; on the chain after `openStageWithCalls`. */
export const callers = Array.from({ length: 24 }, newOwner);
const contract = newOwner();
/** A second pool wallet with less stake, so that orders come to it first; part of the pool after `openStageOfTwo`. */
export const second = newOwner();
const SECOND_SUN = 100_000_000n * 1_000_000n;
export const stageDatabaseUrl = (): string => store.url;
const activation = newOwner();

interface TxRow {
  readonly id: bigint;
  readonly status: string;
  readonly txid: string;
  readonly sends: number;
  readonly evidence: { readonly absences: readonly object[]; readonly scanned?: object } | null;
}

/** The parts of one worker; nothing of it runs by itself. */
export class Hand {
  private clockMs = 0;

  private constructor(private readonly context: INestApplicationContext) {}

  static async open(extra: Record<string, string> = {}): Promise<Hand> {
    const config = readConfig(envAs({ ...env, ...extra }, 'worker'));
    const log = openLog('silent');
    const context = await NestFactory.createApplicationContext(WorkerModule.for(config, log), { logger: false });
    workers.push(context);
    return new Hand(context);
  }

  work = () => this.context.get(OrderClaims, { strict: false });
  ending = () => this.context.get(OrderTermination, { strict: false });
  log = () => this.context.get(TransactionLog, { strict: false });
  proofs = () => this.context.get(Proofs, { strict: false });
  advancer = () => this.context.get(OrderAdvancer, { strict: false });
  chain = () => this.context.get(TronClient, { strict: false });
  health = () => this.context.get(WalletHealth, { strict: false });
  poolSync = () => this.context.get(PoolSync, { strict: false });
  reclaims = () => this.context.get(OrphanReclaims, { strict: false });
  part = <T>(type: abstract new (...args: never[]) => T): T => this.context.get<T>(type, { strict: false });

  /** As a process that is told to stop. */
  async close(): Promise<void> {
    const at = workers.indexOf(this.context);
    if (at < 0) return;
    workers.splice(at, 1);
    await this.context.close();
  }

  /** One look at the chain, as at a new block. */
  async look(): Promise<void> {
    const follower = this.context.get(Follower, { strict: false });
    this.clockMs = (await follower.step()).clockMs;
    await follower.settle();
  }

  /** Everything that is due, or would be in a moment, one step further. */
  async advance(): Promise<void> {
    await api.database.query(`UPDATE orders SET next_run_at = clock_timestamp() WHERE next_run_at > clock_timestamp()`);
    await this.advancer().advance(await this.work().claimDue(64));
  }

  /** The newest blocks, as a service that never searched does. */
  async search(): Promise<void> {
    await api.database.query(`UPDATE reconcile_state SET scanned_to = NULL`);
    const search = this.context.get(UnrecordedSearch, { strict: false });
    while ((await search.pass(true)) !== 0);
  }

  /** Running rentals that fall short of what was sold, as of the last look. */
  async topUp(): Promise<number> {
    const { ratio } = this.context.get(ChainView, { strict: false }).current!;
    const short = await this.work().claimShort(64, shortBelowE6(ratio), this.clockMs + TOP_UP_TIME_LEFT_MS);
    await this.advancer().advance(short);
    const lost = await this.claimLost();
    await this.advancer().advance(lost);
    return short.length + lost.length;
  }

  /** Running rentals that are to make up for what reclaims cost their receivers, as of the last look. */
  async claimLost(): Promise<ClaimedOrder[]> {
    return this.work().claimLost(64, this.clockMs + TOP_UP_TIME_LEFT_MS);
  }

  /** What has ended by the chain's clock, as of the last look. */
  async end(): Promise<number> {
    const ended = await this.work().claimEnding(this.clockMs, 64);
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
  // Wallets are read here only when a test says so.
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

/** As if the worker that claimed had said nothing for longer than its lease. */
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

/** Claims an order whatever its time. */
export async function dueAgain(hand: Hand, orderId: bigint): Promise<ClaimedOrder> {
  await api.database.query('UPDATE orders SET next_run_at = clock_timestamp(), lease_until = NULL WHERE id = $1', [
    orderId,
  ]);
  const [order] = await hand.work().claimIds([orderId]);
  return order!;
}

async function stakeNow(owner: Owner, amount: bigint): Promise<void> {
  const staked = stake(devnet.fullUrl, owner, amount).then(() => true);
  // On a busy machine it is sent late, and no block comes by itself.
  while (!(await Promise.race([staked, sleep(300).then(() => false)]))) await mine(SOLID_LAG + 1);
}

/** `spareSun`: what the pool wallet holds beside its stake, to burn for bandwidth. */
export const openStage = (spareSun = SPARE_SUN): Promise<void> => open({ spareSun });
export const openStageOfTwo = (extra: Record<string, string> = {}, withCalls = false): Promise<void> =>
  open({ withSecond: true, extra, withCalls });
/** With further settings for the API and all workers. */
export const openStageWith = (extra: Record<string, string>): Promise<void> => open({ extra });
export const openStageWithCalls = (extra: Record<string, string> = {}): Promise<void> =>
  open({ extra, withCalls: true });

const SPARE_SUN = 1_000_000_000n;

async function open({ withSecond = false, withCalls = false, extra = {}, spareSun = SPARE_SUN } = {}): Promise<void> {
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  const token = newOwner().address;
  devnet = await startDevnet({
    blockMs: 0,
    solidLag: SOLID_LAG,
    second: { behind: 0, solidLag: SOLID_LAG },
    genesis: {
      timestamp: YEARS_AGO_MS,
      accounts: [
        { address: pool.address, balance: (STAKE_SUN + spareSun).toString() },
        { address: second.address, balance: (SECOND_SUN + 1_000_000_000n).toString() },
        ...[activation.address, token, ...receivers].map((address) => ({ address, balance: 1000 * SUN_PER_TRX })),
        ...(withCalls ? callers : []).map(({ address }) => ({ address, balance: 100_000 * SUN_PER_TRX })),
      ],
      ...(withCalls && {
        contracts: [
          { address: contract.address, origin: activation.address, name: 'Token', bytecode: await bytecode() },
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
    TRON_BROADCAST_TIMEOUT_MS: '500',
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

/** Has `caller` make a contract that makes others by CREATE2; returns its address. */
export async function openMaker(caller: Owner): Promise<string> {
  const terms = { name: 'Maker', abi: '[]', fee_limit: 1_000_000_000, consume_user_resource_percent: 100 };
  const body = { ...terms, bytecode: MAKER, origin_energy_limit: 10_000_000 };
  const txid = await actAs(devnet.fullUrl, caller, 'deploycontract', body);
  await mine();
  const asked = { method: 'POST', body: JSON.stringify({ value: txid, visible: true }) };
  const said = await fetch(`${devnet.fullUrl}/wallet/gettransactioninfobyid`, asked);
  return ((await said.json()) as { contract_address: string }).contract_address;
}

/** An account where `maker` can make a contract by this salt, with 1 TRX on it. */
export async function openChild(caller: Owner, maker: string, salt: number): Promise<string> {
  const address = childOf(maker, salt);
  await actAs(devnet.fullUrl, caller, 'createtransaction', { to_address: address, amount: SUN_PER_TRX });
  await mine();
  return address;
}

/** TRON: the account becomes a contract, to which nobody can delegate. */
export async function makeChild(caller: Owner, maker: string, salt: number): Promise<void> {
  await actAs(devnet.fullUrl, caller, 'triggersmartcontract', {
    contract_address: maker,
    function_selector: 'make(uint256)',
    parameter: salt.toString(16).padStart(64, '0'),
    fee_limit: 1_000_000_000,
  });
  await mine();
}

/** Has `caller` use some 5 000 energy so many times in one call, in the next block; returns the transaction's id. */
export async function useEnergy(caller: Owner, times: number): Promise<string> {
  return actAs(devnet.fullUrl, caller, 'triggersmartcontract', {
    contract_address: contract.address,
    function_selector: 'heavy(uint256)',
    parameter: times.toString(16).padStart(64, '0'),
    fee_limit: 1_000_000_000,
  });
}

/**
 * No worker checks the wallets' health here, so deaths of several tests would count as deaths in a row and pause the
 * wallet in the middle of another one.
 */
async function forgetFailures(): Promise<void> {
  await api.database.query(
    `UPDATE pool_wallet SET sign_failures = 0, deaths = 0, delivery_pauses = 0, delivery_fault = NULL,
       delivery_held_until = NULL`,
  );
}

/** Brings everything to its end, so that the next test begins with nothing under way. */
export async function clearStage(): Promise<void> {
  full.rest();
  solid.rest();
  const hand = await Hand.open();
  await forgetFailures();
  for (let round = 0; round < 8; round += 1) {
    await mine(PAST_VALIDITY);
    await hand.look();
    await loseLeases();
    await hand.advance();
    await hand.end();
    const left = await api.database.query(
      `SELECT 1 FROM orders o JOIN leg l ON l.order_id = o.id
        WHERE NOT o.settled OR (o.kind = 'rental' AND l.status NOT IN ('released', 'reclaimed')) LIMIT 1`,
    );
    if (left.length === 0) break;
  }
  await forgetFailures();
  // One that no worker reads sells nothing; here nothing of a worker runs by itself.
  await hand.poolSync().syncWallet(pool.address);
  for (const context of workers.splice(0)) await context.close();
}

export async function closeStage(): Promise<void> {
  await api.close();
  await Promise.all([full.close(), solid.close()]);
  await devnet.stop();
  await redis.close();
  await store.drop();
}

/** An order whose delivery was sent and stands in no block yet. */
export async function sentOrder(hand: Hand, receiver = receivers[0]!): Promise<string> {
  const key = await rent(receiver);
  await mine();
  await hand.look();
  await hand.advance();
  expect(await statusesOf(key)).toEqual(['sending']);
  return key;
}

export async function settledOrder(hand: Hand, receiver = receivers[0]!): Promise<string> {
  const key = await sentOrder(hand, receiver);
  await mine(SOLID_LAG + 1);
  await hand.look();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  return key;
}
