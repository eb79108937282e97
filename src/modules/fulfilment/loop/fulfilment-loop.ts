/**
 * The worker's loops: sweep due orders, advance orders that jobs name, follow the chain and reclaim ended rentals. Each
 * loop bounds its own concurrency. Stopping waits for the runs in progress.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs, sleep } from '../../../platform/support/clock.js';
import { keepLease } from '../../../platform/support/lease.js';
import { Config } from '../../../platform/config/config.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { ChainView } from '../follow/chain-view.js';
import { ClockWatch } from './clock-watch.js';
import type { Failures } from '../advance/advance-pass.js';
import { OrderAdvancer } from '../advance/order-advancer.js';
import { Follower } from '../follow/follower.js';
import { StartupGate } from './startup-gate.js';
import { RESOURCES } from '../../../domain/resource.js';
import { TOP_UP_TIME_LEFT_MS } from '../plan/running-rentals.js';
import { OrderClaims } from './order-claims.js';
import type { ClaimedOrder } from './claimed-order.js';

/** Concurrent batches, so that one waiting for a slow node does not block the others. */
const RUNS_MAX = 4;
const FAULT_PAUSE_MS = 500;
/**
 * Concurrent batches of ended rentals, counted separately. So neither they nor the chain follower wait for other runs.
 */
const RECLAIM_RUNS_MAX = 2;
/** A longer batch is stuck: its leases expire, and another worker continues. */
const RUN_MAX_MS = 120_000;
/** Interval between reads of the database's clock. */
const CLOCK_CHECK_MS = 10_000;
/** A pass takes well under a second. If it is overdue by more, the follower counts as stuck. */
const BEHIND_MAX_SEC = 30;
/** The same limit of the sweep. */
const SWEEP_LATE_MAX_SEC = 10;

const STOPPING = 'the worker stops; the order is left to another one';

/** A requested run, and the functions that end its caller's wait. */
interface AdvanceRequest {
  readonly over: Promise<void>;
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

@Injectable()
export class FulfilmentLoop {
  private readonly stopping = new AbortController();
  /** Requested orders that are not yet claimed. Bounded by the callers, since each of them waits. */
  private readonly requested = new Map<bigint, AdvanceRequest>();
  /** Orders claimed by this process, each with the run that advances it. */
  private readonly runOfOrder = new Map<bigint, Promise<Failures>>();
  private readonly runs = new Set<Promise<Failures>>();
  private readonly reclaimRuns = new Set<Promise<Failures>>();
  private nudge = new AbortController();
  private loops: Promise<void>[] = [];
  private openGate: () => void = () => undefined;
  private isGateOpen = false;
  /** Resolves once orders may be advanced: after the loops have started and the past is known. */
  readonly opened = new Promise<void>((resolve) => (this.openGate = resolve));
  /** Monotonic time of the sweep's last database read, for readiness. */
  private sweptAtMs = Number.NEGATIVE_INFINITY;
  /** Monotonic time of the next search for due orders. Wake-up jobs do not bring it forward. */
  private nextSearchMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly orderClaims: OrderClaims,
    private readonly advancer: OrderAdvancer,
    private readonly follower: Follower,
    private readonly chainView: ChainView,
    private readonly startupGate: StartupGate,
    private readonly clockWatch: ClockWatch,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  start(): void {
    this.loops = [
      this.runSweepLoop(),
      this.runChainLoop(),
      this.runSettleLoop(),
      this.runReclaimLoop(),
      this.runTopUpLoop(),
      this.runClockLoop(),
    ];
    this.loops.push(this.startupGate.watch(this.stopping.signal));
  }

  /**
   * Advances an order as soon as a run may start. Resolves when that run ends, or if there is nothing to do: the order
   * is not due, or another worker has it. Rejects if the run failed; the order is retried anyway.
   */
  async advanceOrder(orderId: bigint): Promise<void> {
    if (this.stopping.signal.aborted) throw new Error(STOPPING);
    const request = this.requested.get(orderId) ?? newRequest();
    this.requested.set(orderId, request);
    this.nudge.abort();
    return request.over;
  }

  /** Returns the seconds since the sweep last read the database. */
  get sweepAgeSec(): number {
    return (monotonicMs() - this.sweptAtMs) / 1000;
  }

  /** Returns true if the sweep is stuck, regardless of its own reports. */
  get isSweepLate(): boolean {
    return this.sweepAgeSec > this.config.worker.sweepMs / 1000 + SWEEP_LATE_MAX_SEC;
  }

  /**
   * Returns true if the chain's head is known but its blocks are not being recorded. An unknown head does not count:
   * this process cannot fix it.
   */
  get isBehind(): boolean {
    const { followAgeSec, settleAgeSec } = this.follower.lag;
    const limitSec = this.config.chain.pollMs / 1000 + BEHIND_MAX_SEC;
    return this.chainView.current !== undefined && Math.max(followAgeSec, settleAgeSec) > limitSec;
  }

  /** A method instead of a property, since the answer may change while a claim is awaited. */
  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Stops claiming. Runs in progress continue. */
  stopClaiming(): void {
    this.stopping.abort();
    this.nudge.abort();
  }

  /**
   * Stops claiming and waits for the runs in progress. If the process ends earlier, it is like a crash: leases expire
   * by themselves.
   */
  async stop(): Promise<void> {
    this.stopClaiming();
    // Wait for the loops first: a claim in flight at the stop starts one more run.
    await Promise.all(this.loops);
    await Promise.all([...this.runs, ...this.reclaimRuns]);
    for (const request of this.requested.values()) request.fail(new Error(STOPPING));
    this.requested.clear();
  }

  private async runSweepLoop(): Promise<void> {
    await this.startupGate.wait(this.stopping.signal);
    this.isGateOpen = true;
    this.openGate();
    while (!this.stopping.signal.aborted) {
      this.nudge = new AbortController();
      const pause = await this.sweep();
      if (pause > 0) await sleep(pause, AbortSignal.any([this.nudge.signal, this.stopping.signal]));
    }
  }

  /** Claims requested and due orders. Returns the pause before the next sweep, in ms. */
  private async sweep(): Promise<number> {
    await waitUntilBelow(this.runs, RUNS_MAX);
    if (this.stopping.signal.aborted) return 0;
    const limit = this.config.worker.concurrency;
    try {
      await this.claimRequested(limit);
      if (this.isStopping()) return 0;
      // Claim due orders regardless of the number of requests: orders that no job names must not starve.
      if (monotonicMs() >= this.nextSearchMs) await this.claimDue(limit);
      return this.requested.size > 0 ? 0 : Math.max(0, this.nextSearchMs - monotonicMs());
    } catch (error) {
      this.log.error({ err: error }, 'failed to sweep orders');
      return FAULT_PAUSE_MS;
    }
  }

  private async claimDue(limit: number): Promise<void> {
    const due = await this.orderClaims.claimDue(limit);
    this.sweptAtMs = monotonicMs();
    this.nextSearchMs = due.length === limit ? this.sweptAtMs : this.sweptAtMs + this.config.worker.sweepMs;
    this.startRun(due);
  }

  private async claimRequested(limit: number): Promise<void> {
    const requests = [...this.requested].slice(0, limit);
    if (requests.length === 0) return;
    for (const [id] of requests) this.requested.delete(id);
    try {
      this.startRun(await this.orderClaims.claimNamed(requests.map(([id]) => id)));
    } catch (error) {
      for (const [, request] of requests) request.fail(error);
      throw error;
    }
    for (const [id, request] of requests) void this.endRequest(id, request);
  }

  /** Ends a request with the run that holds its order, or immediately if no run does. Runs never reject. */
  private async endRequest(id: bigint, request: AdvanceRequest): Promise<void> {
    const failures = await this.runOfOrder.get(id);
    if (failures?.has(id) === true) request.fail(failures.get(id));
    else request.done();
  }

  private async runChainLoop(): Promise<void> {
    await this.repeatEveryPoll('failed to follow the chain', async () => {
      await this.follower.step();
    });
  }

  /** Runs beside the chain follower: neither waits for the other or ends with the other's failure. */
  private async runSettleLoop(): Promise<void> {
    await this.repeatEveryPoll('failed to settle solid blocks', () => this.follower.settle());
  }

  /** Uses the last known chain time even if following fails: a held row must not delay ended rentals. */
  private async runReclaimLoop(): Promise<void> {
    await this.repeatEachHead('failed to claim ended rentals', (clockMs) => this.reclaimEndedRentals(clockMs));
  }

  /** Uses the latest view: rentals that a drifting ratio made short are searched for while the chain can be read. */
  private async runTopUpLoop(): Promise<void> {
    await this.repeatEachHead('failed to claim short rentals', (clockMs) => this.topUpShortRentals(clockMs));
  }

  /** A database clock that is set back must not delay due work until it catches up. */
  private async runClockLoop(): Promise<void> {
    const work = async (): Promise<void> => {
      const { setBackSec, jumpedSec, woken } = await this.clockWatch.checkClock();
      if (jumpedSec !== 0) {
        this.log.error(
          { jumpedSec, effect: 'nothing is deleted, disabled or closed by age for an hour' },
          'database clock jumped',
        );
      }
      if (setBackSec > 0 || woken > 0) {
        const effect = 'postponed orders are due now';
        this.log.warn({ setBackSec, orders: woken, effect }, 'database clock set back');
      }
      await this.clockWatch.recountSpending();
    };
    await this.repeatEvery(CLOCK_CHECK_MS, 'failed to follow the database clock', work);
  }

  /** Runs `work` for each new head, and each sweep without one. Between them it would read the same rows again. */
  private async repeatEachHead(failure: string, work: (clockMs: number) => Promise<void>): Promise<void> {
    let doneMs = 0;
    let doneAtMs = Number.NEGATIVE_INFINITY;
    await this.repeatEveryPoll(failure, async () => {
      const { clockMs } = this.chainView;
      const isNew = clockMs !== doneMs || monotonicMs() - doneAtMs >= this.config.worker.sweepMs;
      if (!this.isGateOpen || !isNew) return;
      [doneMs, doneAtMs] = [clockMs, monotonicMs()];
      await work(clockMs);
    });
  }

  private async repeatEveryPoll(failure: string, work: () => Promise<void>): Promise<void> {
    await this.repeatEvery(this.config.chain.pollMs, failure, work);
  }

  private async repeatEvery(restMs: number, failure: string, work: () => Promise<void>): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const startedAt = monotonicMs();
      try {
        await work();
      } catch (error) {
        this.log.warn({ fault: messageOf(error) }, failure);
      }
      await sleep(Math.max(1, restMs - (monotonicMs() - startedAt)), this.stopping.signal);
    }
  }

  /** Reclaims the rentals that had ended by `clockMs`, in up to two concurrent batches, until none is left. */
  private async reclaimEndedRentals(clockMs: number): Promise<void> {
    const limit = this.config.worker.concurrency;
    for (;;) {
      await waitUntilBelow(this.reclaimRuns, RECLAIM_RUNS_MAX);
      if (this.stopping.signal.aborted) return;
      const ended = await this.orderClaims.claimEnded(clockMs, limit);
      this.startRun(ended, this.reclaimRuns);
      if (ended.length < limit) return;
    }
  }

  /**
   * Claims running rentals with less energy or bandwidth than was sold. Usually none: only a changed ratio or reclaims
   * cause this.
   */
  private async topUpShortRentals(clockMs: number): Promise<void> {
    const view = this.chainView.current;
    if (view === undefined || view.isDisputed) return;
    await waitUntilBelow(this.runs, RUNS_MAX);
    if (this.stopping.signal.aborted) return;
    const endsAfterMs = clockMs + TOP_UP_TIME_LEFT_MS;
    for (const resource of RESOURCES) {
      const limit = this.config.worker.concurrency;
      this.startRun(await this.orderClaims.claimShort(limit, resource, view.ratio, endsAfterMs));
      if (this.isStopping()) return;
    }
    this.startRun(await this.orderClaims.claimWithLosses(this.config.worker.concurrency, endsAfterMs));
  }

  private startRun(orders: readonly ClaimedOrder[], runs = this.runs): void {
    if (orders.length === 0) return;
    const done = new AbortController();
    void this.keepLeases(orders, done.signal);
    const run = this.advancer
      .advance(orders)
      .catch((error: unknown): Failures => {
        this.log.error({ err: error, orders: orders.length }, 'failed to process a batch of orders; will retry');
        return new Map(orders.map(({ id }) => [id, error]));
      })
      .finally(() => {
        done.abort();
        runs.delete(run);
        for (const { id } of orders) if (this.runOfOrder.get(id) === run) this.runOfOrder.delete(id);
      });
    runs.add(run);
    for (const { id } of orders) this.runOfOrder.set(id, run);
  }

  private async keepLeases(orders: readonly ClaimedOrder[], done: AbortSignal): Promise<void> {
    const options = {
      leaseSec: this.config.worker.leaseSec,
      maxMs: RUN_MAX_MS,
      renew: () => this.orderClaims.renew(orders),
      onFailure: (error: unknown) => {
        this.log.warn({ fault: messageOf(error) }, 'failed to renew leases');
      },
    };
    await keepLease(options, done);
  }
}

function newRequest(): AdvanceRequest {
  let done: AdvanceRequest['done'] = () => undefined;
  let fail: AdvanceRequest['fail'] = () => undefined;
  const over = new Promise<void>((resolve, reject) => {
    done = resolve;
    fail = reject;
  });
  return { over, done, fail };
}

async function waitUntilBelow(runs: ReadonlySet<Promise<unknown>>, count: number): Promise<void> {
  while (runs.size >= count) await Promise.race(runs);
}
