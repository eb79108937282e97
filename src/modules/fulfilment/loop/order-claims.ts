/** Claims due orders under a lease and a fencing token, loads them, and releases them with the time of their next run. */
import { Injectable } from '@nestjs/common';
import { sleep } from '../../../platform/support/clock.js';
import { requestIdIn } from '../../../platform/support/purchase-reference.js';
import { groupBy } from '../../../platform/support/group-by.js';
import { Config } from '../../../platform/config/config.js';
import type { Resource } from '../../../domain/resource.js';
import { sun, type Energy } from '../../../domain/units.js';
import type { ChainTxPurpose, ChainTxStatus, LegKind, LegStatus, TopUpCause } from '../../../domain/order-state.js';
import { Database } from '../../../platform/database/database.js';
import { steadyAgeSec } from '../../../platform/database/confirmed-clock.js';
import {
  claimDueOrders,
  claimEndedRentals,
  claimNamedOrders,
  claimRentalsWithLosses,
  claimShortRentals,
  releaseOrders,
  renewLeases,
  type ClaimRow,
} from '../../order-records/order-leases.js';
import { FulfilmentEvents } from '../fulfilment-events.js';
import type { Tally, ClaimedLeg, ClaimedOrder, ClaimedTx, ReceiverUsage } from './claimed-order.js';
import { readReceiverUsage } from './receiver-usage.js';
import { shortBelowE6 } from '../plan/running-rentals.js';
import type { NetworkTotals } from '../../pool/bandwidth-stake.js';

const LEG_AGE_SEC = steadyAgeSec('l.changed_at');
const TX_AGE_SEC = steadyAgeSec('t.created_at');

/**
 * Legs with their live transactions, one row for each transaction. A reclaim is never given up, so it may have many
 * attempts: Postgres counts them. Unsigned attempts do not count once the wallet signs again. `(SELECT $1…)` hides the
 * number of orders, so that the plan is kept (order-records/transaction-transitions.ts).
 */
const LOAD_LEGS = {
  name: 'load_legs',
  text: `SELECT l.id, l.order_id, l.leg_no, l.kind, l.wallet_id, w.address, w.permission_id, w.key_address, w.sign_failures,
      w.delivery_fault IS NULL AND w.wallet_fault IS NULL AS can_deliver, l.top_up, l.top_up_cause, l.amount_sun,
      l.energy, l.bandwidth, l.status, l.closed_at IS NOT NULL AS closed, ${LEG_AGE_SEC} AS age_sec, a.tallies,
      t.id AS tx_id, t.purpose, t.attempt, t.status AS tx_status, t.txid, t.raw_data, t.signature, t.ref_block_number,
      t.expires_at, t.block_number, t.block_id, t.sends, ${TX_AGE_SEC} AS tx_age_sec
    FROM open_leg l JOIN pool_wallet w ON w.id = l.wallet_id
    LEFT JOIN open_chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.status NOT IN ('dead', 'dropped')
    CROSS JOIN LATERAL (SELECT json_agg(c) AS tallies FROM (
      SELECT t.purpose, max(t.attempt) AS attempts, count(*) FILTER (WHERE t.status = 'dead' AND t.sends > 0) AS deaths,
          count(*) FILTER (WHERE t.created_at >= l.changed_at
            AND (t.signature IS NOT NULL OR w.sign_failures > 0)) AS recent,
          extract(epoch FROM clock_timestamp() - max(t.created_at))::float8 AS "lastAgeSec"
        FROM open_chain_tx t WHERE t.order_id = l.order_id AND t.leg_id = l.id AND t.status IN ('dead', 'dropped')
       GROUP BY t.purpose) c) a
    WHERE l.order_id = ANY ((SELECT $1::bigint[])::bigint[]) ORDER BY l.order_id, l.leg_no, t.id`,
};

const STILL_OURS = {
  name: 'still_ours',
  text: `SELECT o.id FROM open_orders o JOIN unnest($1::bigint[], $2::int[]) AS v(id, fence) ON o.id = v.id AND o.fence = v.fence`,
};

/**
 * Pauses before each try to release orders whose rows another session holds. Our own sessions hold rows for
 * milliseconds.
 */
const RELEASE_RESTS_MS = [0, 20, 100, 500];

interface LegRow {
  id: bigint;
  order_id: bigint;
  leg_no: number;
  kind: LegKind;
  wallet_id: number;
  address: string;
  permission_id: number;
  key_address: string;
  sign_failures: number;
  can_deliver: boolean;
  top_up: boolean;
  top_up_cause: TopUpCause | null;
  amount_sun: bigint;
  energy: Energy | null;
  bandwidth: bigint | null;
  status: LegStatus;
  closed: boolean;
  age_sec: number;
  tallies: readonly Tally[] | null;
}

/** A row of a leg with one of its live transactions; `tx_id` is null for a leg without one. */
interface LegTxRow extends LegRow {
  tx_id: bigint | null;
  purpose: ChainTxPurpose;
  attempt: number;
  tx_status: ChainTxStatus;
  txid: Buffer;
  raw_data: Buffer;
  signature: Buffer | null;
  ref_block_number: bigint;
  expires_at: Date;
  block_number: bigint | null;
  block_id: Buffer | null;
  sends: number;
  tx_age_sec: number;
}

function toTxs(rows: readonly LegTxRow[]): ClaimedTx[] {
  return rows.flatMap((row) => (row.tx_id === null ? [] : toTx(row, row.tx_id)));
}

function toTx(row: LegTxRow, id: bigint): ClaimedTx {
  return {
    id,
    legId: row.id,
    purpose: row.purpose,
    attempt: row.attempt,
    status: row.tx_status,
    txid: row.txid.toString('hex'),
    rawData: row.raw_data,
    signature: row.signature ?? undefined,
    refBlockNumber: Number(row.ref_block_number),
    expiresAtMs: row.expires_at.getTime(),
    blockNumber: row.block_number === null ? undefined : Number(row.block_number),
    blockId: row.block_id?.toString('hex'),
    sends: row.sends,
    ageSec: row.tx_age_sec,
  };
}

function toLeg(row: LegRow, txs: readonly ClaimedTx[]): ClaimedLeg {
  return {
    id: row.id,
    legNo: row.leg_no,
    kind: row.kind,
    walletId: row.wallet_id,
    walletAddress: row.address,
    permissionId: row.permission_id,
    keyAddress: row.key_address,
    canDeliver: row.can_deliver,
    isTopUp: row.top_up,
    topUpCause: row.top_up_cause ?? undefined,
    signFailures: row.sign_failures,
    amountSun: sun(row.amount_sun),
    energy: row.energy ?? undefined,
    bandwidth: row.bandwidth ?? undefined,
    status: row.status,
    isClosed: row.closed,
    ageSec: row.age_sec,
    txs,
    tallies: row.tallies ?? [],
  };
}

function toOrder(row: ClaimRow, legs: readonly ClaimedLeg[], usage: ReceiverUsage | undefined): ClaimedOrder {
  return {
    id: row.id,
    projectId: row.project_id,
    kind: row.kind,
    status: row.status,
    receiver: row.receive_address,
    energy: row.energy ?? undefined,
    bandwidth: row.bandwidth ?? undefined,
    credits: row.credits,
    isSettled: row.settled,
    isUndoing: row.undoing,
    needsAttention: row.needs_attention,
    endsAtMs: row.ends_at?.getTime(),
    ageSec: row.age_sec,
    fence: row.fence,
    dueAt: row.due_at,
    requestId: requestIdIn(row.request_id),
    legs,
    usage,
  };
}

/** Returns true if the rental runs and none of it is being reclaimed. */
function isRunning({ kind, status, settled }: ClaimRow, legs: readonly LegTxRow[]): boolean {
  if (kind !== 'rental' || status !== 'delivered' || !settled) return false;
  const isReclaim = ({ tx_id: tx, purpose }: LegTxRow): boolean => tx !== null && purpose === 'reclaim';
  return !legs.some(
    (leg) => leg.kind !== 'activation' && (leg.status === 'reclaiming' || leg.status === 'reclaimed' || isReclaim(leg)),
  );
}

export interface Released {
  readonly order: ClaimedOrder;
  /** Delay until the next run of an order that is still under way. */
  readonly delayMs: number;
  /** True for a rental after the head has reached its end. */
  readonly isEnding: boolean;
}

@Injectable()
export class OrderClaims {
  constructor(
    private readonly database: Database,
    private readonly fulfilmentEvents: FulfilmentEvents,
    private readonly config: Config,
  ) {}

  /** Claims and loads up to `limit` orders that are due by the database's clock, oldest first. */
  async claimDue(limit: number): Promise<ClaimedOrder[]> {
    return this.load(await claimDueOrders(this.database, this.leaseSec, limit));
  }

  /** Claims and loads those of `ids` that are due. */
  async claimNamed(ids: readonly bigint[]): Promise<ClaimedOrder[]> {
    return this.load(await claimNamedOrders(this.database, this.leaseSec, ids));
  }

  /** Claims and loads up to `limit` rentals that have ended by the chain's clock. */
  async claimEnded(clockMs: number, limit: number): Promise<ClaimedOrder[]> {
    return this.load(await claimEndedRentals(this.database, this.leaseSec, limit, new Date(clockMs)));
  }

  /** Claims and loads up to `limit` running rentals with less of a resource than was sold, worst first. */
  async claimShort(
    limit: number,
    resource: Resource,
    totals: NetworkTotals,
    endsAfterMs: number,
  ): Promise<ClaimedOrder[]> {
    const short = { resource, shortBelowE6: shortBelowE6(totals, resource), endsAfter: new Date(endsAfterMs) };
    return this.load(await claimShortRentals(this.database, this.leaseSec, limit, short));
  }

  /**
   * Claims and loads up to `limit` running rentals that lost energy by reclaims of other rentals of their receivers.
   */
  async claimWithLosses(limit: number, endsAfterMs: number): Promise<ClaimedOrder[]> {
    return this.load(await claimRentalsWithLosses(this.database, this.leaseSec, limit, new Date(endsAfterMs)));
  }

  /** Renews the leases of claimed orders. Orders that another worker has claimed since are unchanged. */
  async renew(orders: readonly ClaimedOrder[]): Promise<void> {
    await renewLeases(this.database, orders, this.leaseSec);
  }

  /**
   * Releases orders, each with its next run, and reports those that this process no longer held. An order whose row
   * another session keeps locked stays leased, and is due again when the lease ends.
   */
  async release(orders: readonly Released[]): Promise<void> {
    if (orders.length === 0) return;
    let left = [...orders];
    let lost = 0;
    for (const restMs of RELEASE_RESTS_MS) {
      if (restMs > 0) await sleep(restMs);
      const released = await releaseOrders(
        this.database,
        left.map(({ order: { id, fence, dueAt }, delayMs, isEnding }) => ({ id, fence, dueAt, delayMs, isEnding })),
      );
      const kept = left.filter(({ order }) => !released.has(order.id));
      if (kept.length === 0) break;
      left = await this.findStillHeld(kept);
      lost += kept.length - left.length;
      if (left.length === 0) break;
    }
    this.fulfilmentEvents.reportFenceLost('release', lost);
  }

  private get leaseSec(): number {
    return this.config.worker.leaseSec;
  }

  private async findStillHeld(orders: readonly Released[]): Promise<Released[]> {
    const params = [orders.map(({ order }) => order.id), orders.map(({ order }) => order.fence)];
    const rows = await this.database.query<{ id: bigint }>(STILL_OURS, params);
    const ours = new Set(rows.map(({ id }) => id));
    return orders.filter(({ order }) => ours.has(order.id));
  }

  /** Loads the legs and transactions of claimed orders. */
  private async load(claims: readonly ClaimRow[]): Promise<ClaimedOrder[]> {
    if (claims.length === 0) return [];
    const rows = await this.database.query<LegTxRow>(LOAD_LEGS, [claims.map(({ id }) => id)]);
    const rowsOf = groupBy(rows, (row) => row.order_id);
    const running = claims.filter((claim) => isRunning(claim, rowsOf.get(claim.id) ?? []));
    const usages = await readReceiverUsage(
      this.database,
      running.map((row) => row.receive_address),
    );
    return claims.map((claim) => {
      const legs = groupBy(rowsOf.get(claim.id) ?? [], (row) => row.id);
      return toOrder(
        claim,
        [...legs.values()].flatMap((ofLeg) => (ofLeg[0] === undefined ? [] : toLeg(ofLeg[0], toTxs(ofLeg)))),
        running.includes(claim) ? usages.get(claim.receive_address) : undefined,
      );
    });
  }
}
