// The worker's auto-delegation services in this process, without their own timers. Also fixtures of auto-delegations,
// and reads of their records.
import { randomBytes } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  AutoDelegationClaims,
  type ClaimedAutoDelegation,
} from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import { buy, extend, type Bought } from '../../../src/modules/auto-delegations/refill-statement.js';
import { Refills } from '../../../src/modules/auto-delegations/refills.js';
import { UseObserver } from '../../../src/modules/auto-delegations/use-observer.js';
import { addressBytes } from '../../../src/domain/base58-address.js';
import type { Block } from '../../../src/platform/chain/block.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { usesOfRefill } from '../../../src/domain/price.js';
import { energy } from '../../../src/domain/units.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { DirectTerms } from '../../../src/modules/orders/direct-terms.js';
import { QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { Database } from '../../../src/platform/database/database.js';
import { WorkerModule } from '../../../src/apps/worker/worker.module.js';
import type { Customer } from '../../support/api/client.js';
import { retryWithoutConnection } from '../../support/database/pool-retry.js';
import { openLog } from '../../support/log.js';
import { envAs } from '../../setup/roles.js';
import type { RaceCluster } from './cluster.js';

const KEEP = 130_000;
export const RENTED_SEC = 3600;
/** Connections of one keeper, if the processes under test have at least as many. */
const POOL_MAX = 6;
const DEADLOCK = '40P01';

export class Keeper {
  readonly uses: UseObserver;
  readonly refills: Refills;
  readonly claims: AutoDelegationClaims;
  deadlocks = 0;
  private readonly database: Database;

  private constructor(private readonly context: INestApplicationContext) {
    this.uses = this.part(UseObserver);
    this.refills = this.part(Refills);
    this.claims = this.part(AutoDelegationClaims);
    this.database = this.part(Database);
    this.database.onFault = (kind) => {
      if (kind === DEADLOCK) this.deadlocks += 1;
    };
  }

  static async open(env: Record<string, string>): Promise<Keeper> {
    const connections = Math.min(Number(env['DATABASE_POOL_MAX']), POOL_MAX);
    const config = readConfig(envAs({ ...env, DATABASE_POOL_MAX: connections.toString() }, 'worker'));
    const module = WorkerModule.for(config, openLog('silent'));
    return new Keeper(await NestFactory.createApplicationContext(module, { logger: false }));
  }

  async close(): Promise<void> {
    await this.context.close();
  }

  /** Reads the head of the chain. */
  async look(): Promise<void> {
    await this.part(TronClient).pool.nodes[0]!.readHead();
  }

  /** Returns a unique block at the head in which these addresses called a contract. */
  useOf(addresses: readonly string[]): Block {
    const head = this.part(TronClient).pool.head!;
    const transactions = addresses.map((address) => ({
      txid: randomBytes(32).toString('hex'),
      succeeded: true,
      signed: undefined,
      caller: addressBytes(address)!.toString('hex'),
    }));
    const id = randomBytes(32).toString('hex');
    const { number, timestampMs } = head;
    return { number, id, timestampMs, parentId: id, isEmpty: false, isWhole: true, transactions };
  }

  async buy(row: ClaimedAutoDelegation): Promise<Bought> {
    const request = { receiveAddress: row.address, energy: energy(BigInt(KEEP)), durationSec: RENTED_SEC };
    const { terms, refusal } = await this.part(DirectTerms).price(request, false);
    if (terms === undefined) throw refusal ?? new Error('there are no terms');
    return retryWithoutConnection(async () => buy(this.database, row, terms));
  }

  async extend(row: ClaimedAutoDelegation, orderId: bigint, durationSec: number): Promise<Bought> {
    const expectedUses = usesOfRefill(durationSec);
    const priced = this.part(QuotesService).priceTime(energy(BigInt(KEEP)), durationSec, expectedUses);
    const headAtMs = this.part(TronClient).pool.head!.timestampMs;
    return retryWithoutConnection(async () =>
      extend(this.database, row, { ...priced, orderId, durationSec, expectedUses, headAtMs }),
    );
  }

  /** Uses that this keeper was the first to record. */
  async marked(): Promise<number> {
    const { values } = await this.part(Metrics).registry.getSingleMetric('auto_delegation_uses_total')!.get();
    return values[0]?.value ?? 0;
  }

  private part<T>(type: abstract new (...args: never[]) => T): T {
    return this.context.get<T>(type, { strict: false });
  }
}

/** Creates or replaces an auto-delegation, as a request does. Returns its id. */
export async function put(cluster: RaceCluster, of: Customer, address: string, capCredits: bigint): Promise<bigint> {
  const [row] = await cluster.database.query<{ id: bigint }>(
    `INSERT INTO auto_delegation AS a (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
         daily_cap_credits, idle_after_sec, due_at)
       VALUES ($1, $2, $1, $3, $3, $4, $5, 86400, clock_timestamp())
       ON CONFLICT (project_id, address) DO UPDATE SET daily_cap_credits = excluded.daily_cap_credits, due_at = excluded.due_at,
         asleep = false, fence = a.fence + 1
       RETURNING id`,
    [of.merchant, address, KEEP, RENTED_SEC, capCredits],
  );
  return row!.id;
}

/** Puts all auto-delegations to sleep, so that later races ignore them. */
export async function letSleep(cluster: RaceCluster): Promise<void> {
  await cluster.database.query(
    'UPDATE auto_delegation SET asleep = true, due_at = NULL, check_at = NULL, change_at = NULL, fence = fence + 1',
  );
}

/** Makes all scheduled rows due now. Locks rows in order of id, as all transactions over several of them do. */
export async function makeDue(cluster: RaceCluster): Promise<void> {
  await cluster.database.query(
    `WITH later AS (
       SELECT id FROM auto_delegation WHERE due_at > clock_timestamp() OR check_at IS NOT NULL ORDER BY id FOR NO KEY UPDATE)
     UPDATE auto_delegation a SET due_at = clock_timestamp() FROM later WHERE a.id = later.id`,
  );
}

export interface OpenOrder {
  readonly id: bigint;
  readonly key: string;
  readonly project_id: string;
}

/** Returns orders of auto-delegations that are neither delivered nor refunded. */
export async function openOrders(cluster: RaceCluster): Promise<OpenOrder[]> {
  return cluster.database.query<OpenOrder>(
    `SELECT id, key, project_id FROM orders WHERE key LIKE 'auto\\_%' AND status IN ('reserved', 'placed') ORDER BY id`,
  );
}

/** Returns the count of used numbers, over orders and extensions. */
export async function purchasesOf(cluster: RaceCluster, id: bigint): Promise<number> {
  const [row] = await cluster.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM order_key WHERE key LIKE 'auto\\_' || $1 || '\\_%'`,
    [id.toString()],
  );
  return row!.count;
}
