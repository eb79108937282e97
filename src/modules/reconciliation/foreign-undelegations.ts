/**
 * Closes legs that foreign undelegations ended. Each such act is compared with the open legs of its wallet, receiver
 * and resource. It closes the legs whose sum equals its amount to the sun. Other acts are left to the operator.
 */
import { Injectable } from '@nestjs/common';
import { delegationKind, type Resource } from '../../domain/resource.js';
import { UNDELEGATE_TYPE } from '../../platform/chain/transaction-owner.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { sleep } from '../../platform/support/clock.js';
import { Log } from '../../platform/observability/logger.js';
import type { EndedOrder } from '../order-records/order-transitions.js';
import { closeLegs, holdPair } from '../pool/leg-closing.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { shortfallOf, type JudgedShortfall } from '../pool/shortfall.js';
import { ActPages, IS_NEXT_ACT, type ActPosition } from './act-pages.js';
import { runForAct } from './run-for-act.js';
import { identityOf, FulfilmentEvents } from '../fulfilment/fulfilment-events.js';

const ACTS_MAX = 200;
/**
 * Pause before the chain is read again for an act without effect. The backend that answered may lag behind the one that
 * showed the act's block.
 */
const REST_MS = 3000;

/** Unrecorded acts that may have ended a delegation and are not matched with legs yet. */
const OPEN_ACTS = `SELECT o.txid, o.wallet_id, w.address, o.receive_address, o.amount_sun,
    coalesce(o.resource, 'ENERGY') AS resource, o.block_number, o.block_at
  FROM orphan_tx o JOIN pool_wallet w ON w.id = o.wallet_id
  WHERE ${IS_NEXT_ACT} AND o.type = $3 AND o.leg_ids IS NULL AND o.receive_address IS NOT NULL AND o.amount_sun IS NOT NULL
  ORDER BY o.block_number, o.txid LIMIT $4`;

/** Legs delegated before the act, in order of their end. `moving`: an undelegation of ours may be pending. */
const LEGS = `SELECT l.id, l.amount_sun, r.status = 'sending' AS moving
  FROM open_leg l JOIN open_orders o ON o.id = l.order_id
  JOIN open_chain_tx d ON d.leg_id = l.id AND d.purpose = 'delegate' AND d.status = 'solid' AND d.block_number <= $3
  LEFT JOIN open_chain_tx r ON r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')
  WHERE l.wallet_id = $1 AND l.receive_address = $2 AND l.kind = $4 AND l.status IN ('active', 'reclaiming')
    AND (r.id IS NULL OR r.status = 'sending')
  ORDER BY o.ends_at, l.id`;

const MARK = `UPDATE orphan_tx SET leg_ids = $2 WHERE txid = $1 AND leg_ids IS NULL RETURNING true`;

interface ActRow extends ActPosition {
  readonly wallet_id: number;
  readonly address: string;
  readonly receive_address: string;
  readonly amount_sun: bigint;
  readonly resource: Resource;
  readonly block_at: Date;
}

export interface OpenLeg {
  readonly id: bigint;
  readonly amount_sun: bigint;
  readonly moving: boolean | null;
}

@Injectable()
export class ForeignUndelegations {
  private readonly pages: ActPages<ActRow>;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly fulfilmentEvents: FulfilmentEvents,
    private readonly log: Log,
  ) {
    this.pages = new ActPages(ACTS_MAX, (after) =>
      database.query<ActRow>(OPEN_ACTS, [...after, UNDELEGATE_TYPE, ACTS_MAX]),
    );
  }

  /** Processes the next acts that are not accounted for. Throws ChainUnavailableError. */
  async closeLegs(): Promise<void> {
    const acts = await this.pages.next();
    const effectless: ActRow[] = [];
    for (const act of acts) {
      await runForAct(this.log, act, async () => {
        if (!(await this.closeLegsOfAct(act, false))) effectless.push(act);
      });
    }
    if (effectless.length === 0) return;
    await sleep(REST_MS);
    for (const act of effectless) {
      await runForAct(this.log, act, async () => {
        await this.closeLegsOfAct(act, true);
      });
    }
  }

  /** Returns false if the act seems to have had no effect. Records that only if it `isConfirmed`. */
  private async closeLegsOfAct(act: ActRow, isConfirmed: boolean): Promise<boolean> {
    const missing = await shortfallOf(this.database, this.client, {
      wallet: { id: act.wallet_id, address: act.address },
      receiver: act.receive_address,
      resource: act.resource,
      // A node below this height may still show the stake that the act ended.
      leastHeight: act.block_number,
    });
    if (missing.most === 0n && !isConfirmed) return false;
    const outcome = await this.database.transaction(async (tx) => account(tx, act, missing));
    if (outcome === undefined) return true;
    const fields = { txid: act.txid.toString('hex'), wallet: act.address, receiver: act.receive_address };
    if (outcome.legs === 0) {
      this.log.warn(fields, 'foreign undelegation affected no order');
      return true;
    }
    for (const order of outcome.ended) this.fulfilmentEvents.reportReclaimed(identityOf(order), order.late_sec);
    const orders = outcome.ended.map(({ id }) => id.toString());
    this.log.error({ ...fields, legs: outcome.legs, orders }, 'foreign undelegation ended delegations of orders');
    return true;
  }
}

interface Outcome {
  readonly legs: number;
  readonly ended: readonly EndedOrder[];
}

async function account(tx: Queryable, act: ActRow, missing: JudgedShortfall): Promise<Outcome | undefined> {
  const { txid, block_at: at } = act;
  if (!(await holdPair(tx, missing))) return undefined;
  // This mark is permanent, so it requires that no pending transaction can hide a shortfall.
  if (missing.most === 0n) {
    return (await tx.query(MARK, [txid, []])).length === 0 ? undefined : { legs: 0, ended: [] };
  }
  const pair = [act.wallet_id, act.receive_address, act.block_number, delegationKind(act.resource)];
  const legs = await tx.query<OpenLeg>(LEGS, pair);
  const taken = takenBy(act.amount_sun, legs);
  if (taken === undefined || sumOf(taken) > missing.least) return undefined;
  // Our own undelegation may still be included and would then end another leg; wait for its outcome.
  if (taken.some(({ moving }) => moving === true)) return undefined;
  const legIds = taken.map(({ id }) => id);
  if ((await tx.query(MARK, [txid, legIds])).length === 0) return undefined;
  const { closed, ended } = await closeLegs(tx, { legIds, at, txid: txid.toString('hex'), reason: undefined });
  return { legs: closed, ended };
}

/**
 * Returns the legs that an undelegation of `amount` ended: one leg of exactly this amount, or the legs that end first
 * and sum to it. Returns undefined if neither matches.
 */
export function takenBy(amount: bigint, legs: readonly OpenLeg[]): readonly OpenLeg[] | undefined {
  const single = legs.find((leg) => leg.amount_sun === amount);
  if (single !== undefined) return [single];
  const first: OpenLeg[] = [];
  for (const leg of legs) {
    first.push(leg);
    if (sumOf(first) >= amount) break;
  }
  return first.length > 0 && sumOf(first) === amount ? first : undefined;
}

function sumOf(legs: readonly OpenLeg[]): bigint {
  return legs.reduce((sum, leg) => sum + leg.amount_sun, 0n);
}
