/**
 * Gauges of open orders by state and age, the queue, Redis and the sweep. Every worker reads them in the background at
 * a fixed pace, never on a scrape. The cost depends on the open orders, never on all orders ever sold.
 */
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Gauge } from 'prom-client';
import { monotonicMs, withDeadline } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics, addGauge } from '../../platform/observability/metrics.js';
import { ORDERS_QUEUE, queuePrefix } from '../../platform/queue/jobs.js';
import { Repeater } from '../../platform/support/repeat.js';
import { Database } from '../../platform/database/database.js';
import { ChainView } from './follow/chain-view.js';
import { Follower, type FollowerLag } from './follow/follower.js';
import { FulfilmentLoop } from './loop/fulfilment-loop.js';

/** Interval between reads. More frequent scrapes see the same figures. */
const SAMPLE_MS = 10_000;
const REDIS_LIMIT_MS = 1000;
/** Shorter retry: a process reads before its Redis connection is up, and Redis may return at any time. */
const REDIS_RETRY_MS = 2000;

/**
 * Every order that is not final is in one of two partial indexes: due work, or running rentals. `returning` is a rental
 * that has ended but whose energy is not yet reclaimed. Test orders are excluded: no worker fulfils them.
 */
const OPEN_ORDERS = {
  name: 'gauges_open_orders',
  text: `SELECT state, count(*) AS count, greatest(max(age_sec), 0)::float8 AS oldest_sec,
      count(*) FILTER (WHERE needs_attention) AS attention
    FROM (
      SELECT CASE WHEN status <> 'delivered' THEN status WHEN settled THEN 'returning' ELSE 'delivered' END AS state,
          needs_attention, extract(epoch FROM clock_timestamp() - created_at) AS age_sec
        FROM open_orders WHERE next_run_at IS NOT NULL
      UNION ALL
      SELECT 'running', needs_attention, 0
        FROM open_orders WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
          AND next_run_at IS NULL AND NOT test) o
    GROUP BY state`,
};

/** Age of the oldest sent transaction without a block or a proof of death. */
const SENDING = {
  name: 'gauges_sending',
  text: `SELECT greatest(extract(epoch FROM clock_timestamp() - min(t.created_at)), 0)::float8 AS oldest_sec
    FROM open_orders o JOIN open_chain_tx t ON t.order_id = o.id WHERE o.next_run_at IS NOT NULL AND t.stage = 'open' AND t.status = 'sending'`,
};

/**
 * The least stake per sold energy, and per sold unit of bandwidth, of a running rental: the first entry of each index.
 */
const WORST_RENTAL = {
  name: 'gauges_worst_rental',
  text: `SELECT
      (SELECT min(sun_per_energy_e6) FROM open_orders
        WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL) AS energy_sun_e6,
      (SELECT min(sun_per_bandwidth_e6) FROM open_orders
        WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL) AS bandwidth_sun_e6`,
};

const NO_RENTAL = { energy_sun_e6: null, bandwidth_sun_e6: null };

interface WorstRental {
  readonly energy_sun_e6: bigint | null;
  readonly bandwidth_sun_e6: bigint | null;
}

const STATES = ['reserved', 'placed', 'unresolved', 'delivered', 'running', 'returning'] as const;
/** BullMQ keeps these two states as Redis lists. We create no delayed jobs. */
const QUEUE_LISTS = ['wait', 'active'] as const;
const REDIS_FACTS = [
  ['used_memory', 'used_memory_bytes'],
  ['evicted_keys', 'evicted_keys'],
] as const;

type State = (typeof STATES)[number];

interface StateRow {
  state: State;
  count: bigint;
  oldest_sec: number;
  attention: bigint;
}

class VitalGauges {
  readonly orders;
  readonly oldest;
  readonly attention;
  readonly sending;
  readonly queue;
  readonly redisUp;
  readonly redisFacts;

  constructor({ registry }: Metrics) {
    const registers = [registry];
    const state = ['state'] as const;
    this.orders = new Gauge({
      name: 'orders_by_state',
      help: 'Orders that are not final, by `state` (`returning`: past the end).',
      labelNames: state,
      registers,
    });
    this.oldest = new Gauge({
      name: 'oldest_order_seconds',
      help: 'Age of the oldest order by `state`, except running.',
      labelNames: state,
      registers,
    });
    this.attention = new Gauge({
      name: 'orders_needing_attention',
      help: 'Open orders that need the operator.',
      registers,
    });
    this.sending = new Gauge({
      name: 'oldest_sending_seconds',
      help: 'Age of the oldest transaction neither in a block nor dead.',
      registers,
    });
    this.queue = new Gauge({
      name: 'queue_jobs',
      help: 'Wake-ups in Redis, by `state`.',
      labelNames: state,
      registers,
    });
    this.redisUp = new Gauge({ name: 'redis_up', help: '1 if Redis answered the last check.', registers });
    this.redisFacts = new Gauge({
      name: 'redis_info',
      help: 'Figures of Redis, by `fact`.',
      labelNames: ['fact'] as const,
      registers,
    });
  }
}

@Injectable()
export class FulfilmentGauges {
  private readonly gauges: VitalGauges;
  private readonly repeater: Repeater;
  private sampledAtMs = Number.NEGATIVE_INFINITY;
  private worstRental: WorstRental | undefined;

  constructor(
    private readonly database: Database,
    private readonly redis: Redis,
    private readonly config: Config,
    runner: FulfilmentLoop,
    follower: Follower,
    view: ChainView,
    metrics: Metrics,
    log: Log,
  ) {
    this.gauges = new VitalGauges(metrics);
    const reading = (name: string, help: string, read: () => number): void => {
      addGauge(metrics.registry, name, help, read);
    };
    reading('chain_solid_gap_blocks', 'Blocks from the solid head to the head.', () => gapOf(view));
    const behind = (name: string, help: string, key: keyof FollowerLag): void => {
      reading(name, help, () => follower.lag[key]);
    };
    behind('follow_age_seconds', 'Time since every new block was last recorded.', 'followAgeSec');
    behind('settle_age_seconds', 'Time since settlement processed everything waiting.', 'settleAgeSec');
    behind(
      'held_transactions',
      'Transactions in blocks that cannot be recorded: rows locked, or writes fail.',
      'heldTransactions',
    );
    behind('unsettled_blocks', 'Blocks from the oldest with something to settle to the solid head.', 'unsettledBlocks');
    reading(
      'running_rental_worst_ratio',
      'Energy or bandwidth delegated per amount sold of the worst running rental; 1 without rentals.',
      () => ratioOf(this.worstRental, view),
    );
    reading('vitals_age_seconds', 'Age of the gauges on open orders.', () => (monotonicMs() - this.sampledAtMs) / 1000);
    reading('sweep_age_seconds', 'Time since the sweep last searched for due work.', () => runner.sweepAgeSec);
    this.repeater = new Repeater({
      run: async () => {
        const isRedisUp = await this.sample();
        return isRedisUp ? SAMPLE_MS : REDIS_RETRY_MS;
      },
      retryMs: SAMPLE_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'failed to read fulfilment gauges');
      },
    });
  }

  /** Starts reading. Resolves after the first read. */
  async start(): Promise<void> {
    await this.repeater.start();
  }

  async stop(): Promise<void> {
    await this.repeater.stop();
  }

  /** Reads once and returns true if Redis answered. Throws if the database is unavailable, but not if Redis is. */
  async sample(): Promise<boolean> {
    const isRedisUp = await this.sampleRedis();
    const [rows, [sending], [worst]] = await Promise.all([
      this.database.query<StateRow>(OPEN_ORDERS),
      this.database.query<{ oldest_sec: number }>(SENDING),
      this.database.query<WorstRental>(WORST_RENTAL),
    ]);
    const byState = new Map(rows.map((row) => [row.state, row]));
    for (const state of STATES) {
      const row = byState.get(state);
      this.gauges.orders.set({ state }, Number(row?.count ?? 0n));
      if (state !== 'running') this.gauges.oldest.set({ state }, row?.oldest_sec ?? 0);
    }
    this.gauges.attention.set(rows.reduce((sum, row) => sum + Number(row.attention), 0));
    this.gauges.sending.set(sending?.oldest_sec ?? 0);
    this.worstRental = worst;
    this.sampledAtMs = monotonicMs();
    return isRedisUp;
  }

  private async sampleRedis(): Promise<boolean> {
    const { gauges } = this;
    try {
      const prefix = `${queuePrefix(this.config.redis)}:${ORDERS_QUEUE}`;
      const [info, ...lengths] = await withDeadline(
        Promise.all([this.redis.info(), ...QUEUE_LISTS.map((list) => this.redis.llen(`${prefix}:${list}`))]),
        REDIS_LIMIT_MS,
        'asking Redis',
      );
      QUEUE_LISTS.forEach((state, index) => {
        gauges.queue.set({ state }, lengths[index] ?? 0);
      });
      for (const [fact, label] of REDIS_FACTS) {
        const value = new RegExp(`^${fact}:(\\d+)`, 'm').exec(info)?.[1];
        // A substitute for Redis may not report them.
        gauges.redisFacts.set({ fact: label }, value === undefined ? 0 : Number.parseInt(value, 10));
      }
      gauges.redisUp.set(1);
      return true;
    } catch {
      gauges.redisUp.set(0);
      return false;
    }
  }
}

/**
 * Returns NaN while the chain cannot be followed: the gap is then unknown, not zero. Backends behind one name take
 * turns, so one backend's head may be below another's solid head; that is no gap.
 */
function gapOf({ current }: ChainView): number {
  return current === undefined || current.solid.number === 0
    ? Number.NaN
    : Math.max(0, current.head.number - current.solid.number);
}

/** Returns 1 while no rental runs, and NaN while the chain cannot be read. */
function ratioOf(worst: WorstRental | undefined, { current }: ChainView): number {
  const { energy_sun_e6: energySun, bandwidth_sun_e6: bandwidthSun } = worst ?? NO_RENTAL;
  if (energySun === null && bandwidthSun === null) return 1;
  if (current === undefined) return Number.NaN;
  const { totalEnergyLimit, totalEnergyWeight, totalNetLimit, totalNetWeight } = current.ratio;
  const ratios = [
    unitsPerSold(energySun, totalEnergyLimit, totalEnergyWeight),
    unitsPerSold(bandwidthSun, totalNetLimit, totalNetWeight),
  ];
  return Math.min(...ratios.flatMap((ratio) => ratio ?? []));
}

function unitsPerSold(sunE6: bigint | null, limit: bigint, weight: bigint): number | undefined {
  return sunE6 === null || weight === 0n ? undefined : Number((sunE6 * limit) / (10n ** 6n * weight)) / 1e6;
}
