/**
 * Reports changes of orders and transactions to log and metrics: one line and one count per change. The process whose
 * statement made the change reports it, after the commit. Decides nothing and never throws; Postgres holds the truth.
 */
import { Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { requestIdIn } from '../../platform/support/purchase-reference.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import type { ChainTxPurpose, OrderKind, OrderStatus, TopUpCause } from '../../domain/order-state.js';
import type { Resource } from '../../domain/resource.js';
import type { BroadcastRecord } from './send/transaction-log.js';

/** Identifies the changed order. The request id links each log line to the request that bought the order. */
export interface OrderIdentity {
  readonly id: bigint;
  readonly projectId: string;
  readonly requestId: string | undefined;
}

/** OrderIdentity as a statement returns it. */
export interface IdentityRow {
  id: bigint;
  project_id: string;
  request_id: string | null;
}

export function identityOf(row: IdentityRow): OrderIdentity {
  return { id: row.id, projectId: row.project_id, requestId: requestIdIn(row.request_id) };
}

export type TxChange = 'sending' | 'included' | 'fallen' | 'solid' | 'dead';

export interface TxNews {
  readonly order: OrderIdentity;
  readonly txid: string;
  readonly purpose: ChainTxPurpose;
  readonly attempt: number;
}

export type OrderChange = Exclude<OrderStatus, 'reserved'> | 'settled' | 'reclaimed';

interface OrderNews {
  readonly order: OrderIdentity;
  readonly kind?: OrderKind;
  /** Seconds since acceptance, by the database's clock. */
  readonly ageSec?: number;
}

/** TRON: the codes of GrpcAPI.Return. A node may answer anything, so unlisted codes are counted as `ANOTHER`. */
const ANSWERS = new Set([
  'SUCCESS',
  'SIGERROR',
  'CONTRACT_VALIDATE_ERROR',
  'CONTRACT_EXE_ERROR',
  'BANDWITH_ERROR',
  'DUP_TRANSACTION_ERROR',
  'TAPOS_ERROR',
  'TOO_BIG_TRANSACTION_ERROR',
  'TRANSACTION_EXPIRATION_ERROR',
  'SERVER_BUSY',
  'NO_CONNECTION',
  'NOT_ENOUGH_EFFECTIVE_CONNECTION',
  'BLOCK_UNSOLIDIFIED',
  'OTHER_ERROR',
  'UNREADABLE',
  'NO_ANSWER:timeout',
  'NO_ANSWER:unreachable',
  'NO_ANSWER:throttled',
  'NO_ANSWER:http',
  'NO_ANSWER:nonsense',
  'NO_ANSWER:refused',
  'NOT_SENT:timeout',
  'NOT_SENT:unreachable',
  'NOT_SENT:throttled',
]);

/** From less than a block (3 s) to beyond the longest time until a healthy order is refunded. */
const ORDER_SECONDS = [1, 2, 3, 6, 9, 15, 30, 60, 90, 120, 180, 300, 600, 1800];
/** Interval at which the same failure of an order is logged again, and the maximum number of remembered failures. */
const REPORT_AGAIN_MS = 3_600_000;
const REPORTED_MAX = 1000;
const LATE_SECONDS = [0, 3, 6, 9, 15, 30, 60, 120, 300, 900, 3600];

/** Metrics of the worker's own actions. Each process counts only its own, so that sums over processes are exact. */
class ProgressMetrics {
  readonly orders;
  readonly transactions;
  readonly seconds;
  readonly attempts;
  readonly answers;
  readonly lateness;
  readonly early;
  readonly fenceLost;
  readonly signFailures;
  readonly stuck;

  constructor({ registry }: Metrics) {
    const registers = [registry];
    const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter({ name, help, labelNames, registers });
    this.orders = counter('order_changes_total', 'Changes of orders, by their new state (`to`).', 'to');
    this.transactions = counter(
      'chain_transactions_total',
      'Transactions, by `purpose` and `to` (`fallen`: block reverted).',
      'purpose',
      'to',
    );
    this.seconds = new Histogram({
      name: 'order_seconds',
      help: 'Time from acceptance to the state `to`.',
      labelNames: ['to'] as const,
      buckets: ORDER_SECONDS,
      registers,
    });
    this.attempts = new Histogram({
      name: 'chain_transaction_attempts',
      help: 'Number of the attempt that a block included, by `purpose`.',
      labelNames: ['purpose'] as const,
      buckets: [1, 2, 3, 5, 10],
      registers,
    });
    this.answers = counter(
      'broadcast_answers_total',
      'Answers to broadcasts, by `node` and `code`; all but SUCCESS are ambiguous. `NOT_SENT:…`: no node reached.',
      'node',
      'code',
    );
    this.lateness = new Histogram({
      name: 'reclaim_lateness_seconds',
      help: 'Chain time from a rental’s end to its undelegation.',
      buckets: LATE_SECONDS,
      registers,
    });
    this.early = counter('early_reclaims_total', 'Rentals reclaimed before their end: must stay 0.');
    this.fenceLost = counter(
      'fence_lost_total',
      'Writes omitted because another worker or session held the rows, by `step`.',
      'step',
    );
    this.stuck = counter(
      'stuck_transactions_total',
      'Passes in which the database refused an order’s rows, by `to`.',
      'to',
    );
    this.signFailures = counter('sign_failures_total', 'Signatures that failed or were wrong.');
  }
}

/** Metrics of delegations beyond an order's first ones. */
class FurtherLegMetrics {
  readonly moved;
  readonly topUps;

  constructor({ registry }: Metrics) {
    const registers = [registry];
    this.moved = new Counter({
      name: 'legs_moved_total',
      help: 'Delegations moved from a wallet that could not deliver.',
      registers,
    });
    this.topUps = new Counter({
      name: 'rental_top_ups_total',
      help: 'Free top-ups of rentals, by `resource` and `cause` (`stake`: the network’s grew; `usage`: left by an ended rental).',
      labelNames: ['cause', 'resource'] as const,
      registers,
    });
  }
}

@Injectable()
export class FulfilmentEvents {
  private readonly furtherLegs: FurtherLegMetrics;
  private readonly metrics: ProgressMetrics;
  private readonly reportedAtMs = new Map<string, number>();

  constructor(
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.metrics = new ProgressMetrics(metrics);
    this.furtherLegs = new FurtherLegMetrics(metrics);
  }

  /** Reports moved transactions. `details` is added to every line (block, evidence). */
  reportTransactions(to: TxChange, news: readonly TxNews[], details: Readonly<Record<string, unknown>> = {}): void {
    for (const { order, txid, purpose, attempt } of news) {
      this.metrics.transactions.inc({ purpose, to });
      if (to === 'included') this.metrics.attempts.observe({ purpose }, attempt);
      this.log.info({ ...fieldsOf(order), txid, purpose, attempt, ...details }, `transaction ${to}`);
    }
  }

  /** Reports moved orders. */
  reportOrders(to: OrderChange, news: readonly OrderNews[]): void {
    for (const { order, kind, ageSec } of news) {
      this.metrics.orders.inc({ to });
      if (ageSec !== undefined) this.metrics.seconds.observe({ to }, Math.max(0, ageSec));
      const fields = { ...fieldsOf(order), ...(kind && { kind }), ...(ageSec !== undefined && { ageSec }) };
      if (to === 'unresolved') this.log.warn(fields, `order ${to}`);
      else this.log.info(fields, `order ${to}`);
    }
  }

  /**
   * Reports that a rental's undelegation is in a block, `lateSec` seconds after the rental's end by the chain's clock.
   */
  reportReclaimed(order: OrderIdentity, lateSec: number): void {
    this.metrics.orders.inc({ to: 'reclaimed' });
    this.metrics.lateness.observe(Math.max(0, lateSec));
    if (lateSec < 0) {
      this.metrics.early.inc();
      this.log.error({ ...fieldsOf(order), lateSec }, 'order reclaimed early');
    } else this.log.info({ ...fieldsOf(order), lateSec }, 'order reclaimed');
  }

  /** Reports an order after its rows could not be updated. It is retried at every pass and logged once an hour. */
  reportNotAdvanced(to: TxChange, orderId: bigint, err: unknown): void {
    this.metrics.stuck.inc({ to });
    const key = `${to}/${orderId.toString()}`;
    if (monotonicMs() - (this.reportedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < REPORT_AGAIN_MS) return;
    if (this.reportedAtMs.size >= REPORTED_MAX) this.reportedAtMs.clear();
    this.reportedAtMs.set(key, monotonicMs());
    this.log.error({ err, orderId: orderId.toString(), to }, 'failed to advance an order');
  }

  /** Counts the nodes' answers to broadcasts. */
  countAnswers(records: readonly BroadcastRecord[]): void {
    for (const { node, answer } of records) {
      this.metrics.answers.inc({ node, code: ANSWERS.has(answer) ? answer : 'ANOTHER' });
    }
  }

  /**
   * Reports `count` writes without effect: another worker has claimed those orders, or another session holds their
   * rows.
   */
  reportFenceLost(step: 'sign' | 'send' | 'dead' | 'release', count: number): void {
    if (count <= 0) return;
    this.metrics.fenceLost.inc({ step }, count);
    this.log.warn({ step, count }, 'orders taken over or locked elsewhere');
  }

  /** Reports that other wallets took over legs of an order. */
  reportMovedLegs(order: OrderIdentity, legs: readonly { readonly walletAddress: string }[]): void {
    this.furtherLegs.moved.inc(legs.length);
    this.log.warn({ ...fieldsOf(order), from: legs.map((leg) => leg.walletAddress) }, 'order moved to other wallets');
  }

  /** Reports a further delegation for a running rental. */
  reportTopUp(order: OrderIdentity, amountSun: bigint, resource: Resource, cause: TopUpCause): void {
    this.furtherLegs.topUps.inc({ cause, resource });
    this.log.warn({ ...fieldsOf(order), amountSun: amountSun.toString(), resource, cause }, 'running rental topped up');
  }

  reportSignFailure(order: OrderIdentity, wallet: string, err: unknown): void {
    this.metrics.signFailures.inc();
    this.log.error({ err, ...fieldsOf(order), wallet }, 'failed to sign a transaction');
  }
}

function fieldsOf(order: OrderIdentity) {
  return {
    orderId: order.id.toString(),
    projectId: order.projectId,
    ...(order.requestId !== undefined && { requestId: order.requestId }),
  };
}
