/**
 * The worker's loops: sweep due orders, advance orders that jobs name, follow the chain and reclaim ended rentals. Each
 * loop bounds its own concurrency. Stopping waits for the runs in progress.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs, sleep } from '../../base/clock.js';
import { keepLease } from '../../base/lease.js';
import { Config } from '../../config/config.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../observability/logger.js';
import { ChainView } from '../follow/chain-view.js';
import { ClockWatch } from './clock-watch.js';
import { OrderAdvancer, type Failures } from './order-advancer.js';
import { Follower } from '../follow/follower.js';
import { StartupGate } from './startup-gate.js';
import { shortBelowE6, TOP_UP_TIME_LEFT_MS } from '../plan/running-rentals.js';
import { OrderClaims } from './order-claims.js';
import type { ClaimedOrder } from './claimed-order.js';

/** Concurrent batches, so that one waiting for a slow node does not block the others. */
const RUNS_MAX = 4;
const FAULT_PAUSE_MS = 500;
/**
 * Concurrent batches of ended rentals, counted separately. So neither they nor the chain follower wait for other runs.
 */
const ENDING_BATCHES_MAX = 2;
/** A longer batch is stuck: its leases expire, and another worker continues. */
const RUN_MAX_MS = 120_000;
/** Interval between reads of the database's clock. */
const CLOCK_LOOK_MS = 10_000;
/** A pass takes well under a second. Above this limit the follower counts as stuck. */
const BEHIND_MAX_SEC = 30;

const STOPPING = 'the worker stops; the order is left to another one';

/** A requested run, and the functions that end its caller's wait. */
interface Look {
  readonly over: Promise<void>;
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

@Injectable()
export class FulfilmentLoop {
  private readonly stopping = new AbortController();
  /** Requested orders that are not yet claimed. Bounded by the callers, since each of them waits. */
  private readonly asked = new Map<bigint, Look>();
  /** Orders claimed by this process, each with the run that advances it. */
  private readonly held = new Map<bigint, Promise<Failures>>();
  private readonly running = new Set<Promise<Failures>>();
  private readonly ending = new Set<Promise<Failures>>();
  private nudge = new AbortController();
  private loops: Promise<void>[] = [];
  private open: () => void = () => undefined;
  private isPastKnown = false;
  /** Resolves once orders may be advanced: after the loops have started and the past is known. */
  readonly opened = new Promise<void>((resolve) => (this.open = resolve));
  /** Monotonic time of the sweep's last database read, for readiness. */
  private sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly work: OrderClaims,
    private readonly advancer: OrderAdvancer,
    private readonly follower: Follower,
    private readonly view: ChainView,
    private readonly past: StartupGate,
    private readonly clock: ClockWatch,
    private readonly config: Config,
    private readonly logger: Log,
  ) {}

  start(): void {
    this.loops = [
      this.sweepLoop(),
      this.chainLoop(),
      this.settleLoop(),
      this.reclaimLoop(),
      this.topUpLoop(),
      this.clockLoop(),
    ];
    this.loops.push(this.past.watch(this.stopping.signal));
  }

  /**
   * Advances an order as soon as a run may start. Resolves when that run ends, or if there is nothing to do: the order
   * is not due, or another worker has it. Rejects if the run failed; the order is retried anyway.
   */
  async look(orderId: bigint): Promise<void> {
    if (this.stopping.signal.aborted) throw new Error(STOPPING);
    const look = this.asked.get(orderId) ?? newLook();
    this.asked.set(orderId, look);
    this.nudge.abort();
    return look.over;
  }

  /** Returns the seconds since the sweep last read the database. */
  get sweepAgeSec(): number {
    return (monotonicMs() - this.sweptAtMs) / 1000;
  }

  /**
   * Returns true if the chain's head is known but its blocks are not being recorded. An unknown head does not count:
   * this process cannot fix it.
   */
  get isBehind(): boolean {
    const { followAgeSec, settleAgeSec } = this.follower.behind;
    return this.view.current !== undefined && Math.max(followAgeSec, settleAgeSec) > BEHIND_MAX_SEC;
  }

  /** A method instead of a property, since the answer may change while a claim is awaited. */
  private hasEnded(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Stops claiming. Runs in progress continue. */
  end(): void {
    this.stopping.abort();
    this.nudge.abort();
  }

  /**
   * Stops claiming and waits for the runs in progress. If the process ends earlier, it is like a crash: leases expire
   * by themselves.
   */
  async stop(): Promise<void> {
    this.end();
    // Wait for the loops first: a claim in flight at the stop starts one more run.
    await Promise.all(this.loops);
    await Promise.all([...this.running, ...this.ending]);
    for (const look of this.asked.values()) look.fail(new Error(STOPPING));
    this.asked.clear();
  }

  private async sweepLoop(): Promise<void> {
    await this.past.wait(this.stopping.signal);
    this.isPastKnown = true;
    this.open();
    while (!this.stopping.signal.aborted) {
      this.nudge = new AbortController();
      const pause = await this.sweep();
      if (pause > 0) await sleep(pause, AbortSignal.any([this.nudge.signal, this.stopping.signal]));
    }
  }

  /** Claims requested and due orders. Returns the pause before the next sweep, in ms. */
  private async sweep(): Promise<number> {
    await belowLimit(this.running, RUNS_MAX);
    if (this.stopping.signal.aborted) return 0;
    const limit = this.config.worker.concurrency;
    try {
      await this.claimAsked(limit);
      if (this.hasEnded()) return 0;
      // Claim due orders regardless of the number of requests: orders that no job names must not starve.
      const due = await this.work.claimDue(limit);
      this.sweptAtMs = monotonicMs();
      this.spawn(due);
      return due.length === limit || this.asked.size > 0 ? 0 : this.config.worker.sweepMs;
    } catch (error) {
      this.logger.error({ err: error }, 'failed to sweep orders');
      return FAULT_PAUSE_MS;
    }
  }

  private async claimAsked(limit: number): Promise<void> {
    const asked = [...this.asked].slice(0, limit);
    if (asked.length === 0) return;
    for (const [id] of asked) this.asked.delete(id);
    try {
      this.spawn(await this.work.claimIds(asked.map(([id]) => id)));
    } catch (error) {
      for (const [, look] of asked) look.fail(error);
      throw error;
    }
    for (const [id, look] of asked) void this.settle(id, look);
  }

  /** Ends a look with the run that holds its order, or immediately if no run does. Runs never reject. */
  private async settle(id: bigint, look: Look): Promise<void> {
    const failures = await this.held.get(id);
    if (failures?.has(id) === true) look.fail(failures.get(id));
    else look.done();
  }

  private async chainLoop(): Promise<void> {
    await this.everyPoll('failed to follow the chain', async () => {
      await this.follower.step();
    });
  }

  /** Runs beside the chain follower: neither waits for the other or ends with the other's failure. */
  private async settleLoop(): Promise<void> {
    await this.everyPoll('failed to settle solid blocks', () => this.follower.settle());
  }

  /** Uses the last known chain time even if following fails: a held row must not delay ended rentals. */
  private async reclaimLoop(): Promise<void> {
    await this.everyPoll('failed to claim ended rentals', async () => {
      if (this.isPastKnown) await this.reclaim(this.view.clockMs);
    });
  }

  /** Uses the latest view: rentals that a drifting ratio made short are searched for while the chain can be read. */
  private async topUpLoop(): Promise<void> {
    await this.everyPoll('failed to claim short rentals', async () => {
      if (this.isPastKnown) await this.topUp(this.view.clockMs);
    });
  }

  /** A database clock that is set back must not delay due work until it catches up. */
  private async clockLoop(): Promise<void> {
    const work = async (): Promise<void> => {
      const { setBackSec, jumpedSec, woken } = await this.clock.look();
      if (jumpedSec !== 0) {
        this.logger.error(
          { jumpedSec, effect: 'nothing is deleted, disabled or closed by age for an hour' },
          'database clock jumped',
        );
      }
      if (setBackSec > 0 || woken > 0) {
        const effect = 'postponed orders are due now';
        this.logger.warn({ setBackSec, orders: woken, effect }, 'database clock set back');
      }
    };
    await this.every(CLOCK_LOOK_MS, 'failed to read the database clock', work);
  }

  private async everyPoll(failure: string, work: () => Promise<void>): Promise<void> {
    await this.every(this.config.chain.pollMs, failure, work);
  }

  private async every(restMs: number, failure: string, work: () => Promise<void>): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const startedAt = monotonicMs();
      try {
        await work();
      } catch (error) {
        this.logger.warn({ fault: messageOf(error) }, failure);
      }
      await sleep(Math.max(1, restMs - (monotonicMs() - startedAt)), this.stopping.signal);
    }
  }

  /** Reclaims the rentals that had ended by `clockMs`, in up to two concurrent batches, until none is left. */
  private async reclaim(clockMs: number): Promise<void> {
    const limit = this.config.worker.concurrency;
    for (;;) {
      await belowLimit(this.ending, ENDING_BATCHES_MAX);
      if (this.stopping.signal.aborted) return;
      const ended = await this.work.claimEnding(clockMs, limit);
      this.spawn(ended, this.ending);
      if (ended.length < limit) return;
    }
  }

  /**
   * Claims running rentals with less energy than was sold. Usually none: only a changed ratio or reclaims cause this.
   */
  private async topUp(clockMs: number): Promise<void> {
    const view = this.view.current;
    if (view === undefined || view.isDisputed) return;
    await belowLimit(this.running, RUNS_MAX);
    if (this.stopping.signal.aborted) return;
    const below = shortBelowE6(view.ratio);
    const endsAfterMs = clockMs + TOP_UP_TIME_LEFT_MS;
    this.spawn(await this.work.claimShort(this.config.worker.concurrency, below, endsAfterMs));
    if (this.hasEnded()) return;
    this.spawn(await this.work.claimLost(this.config.worker.concurrency, endsAfterMs));
  }

  private spawn(orders: readonly ClaimedOrder[], runs = this.running): void {
    if (orders.length === 0) return;
    const done = new AbortController();
    void this.keepLeases(orders, done.signal);
    const run = this.advancer
      .advance(orders)
      .catch((error: unknown): Failures => {
        this.logger.error({ err: error, orders: orders.length }, 'failed to process a batch of orders; will retry');
        return new Map(orders.map(({ id }) => [id, error]));
      })
      .finally(() => {
        done.abort();
        runs.delete(run);
        for (const { id } of orders) if (this.held.get(id) === run) this.held.delete(id);
      });
    runs.add(run);
    for (const { id } of orders) this.held.set(id, run);
  }

  private async keepLeases(orders: readonly ClaimedOrder[], done: AbortSignal): Promise<void> {
    const options = {
      leaseSec: this.config.worker.leaseSec,
      maxMs: RUN_MAX_MS,
      renew: () => this.work.renew(orders),
      onFailure: (error: unknown) => {
        this.logger.warn({ fault: messageOf(error) }, 'failed to renew leases');
      },
    };
    await keepLease(options, done);
  }
}

function newLook(): Look {
  let done: Look['done'] = () => undefined;
  let fail: Look['fail'] = () => undefined;
  const over = new Promise<void>((resolve, reject) => {
    done = resolve;
    fail = reject;
  });
  return { over, done, fail };
}

async function belowLimit(runs: ReadonlySet<Promise<unknown>>, count: number): Promise<void> {
  while (runs.size >= count) await Promise.race(runs);
}
