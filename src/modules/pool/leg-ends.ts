/** Ends a leg on the operator's word, if a foreign act ended it that the search for such acts could not explain. */
import { Injectable } from '@nestjs/common';
import type { BlockHead } from '../../platform/chain/block.js';
import { UNDELEGATE_TYPE } from '../../platform/chain/transaction-owner.js';
import { solidBlockOf, solidHeadOf, solidPlaceOf, TronClient } from '../../platform/chain/tron.client.js';
import { closeLegs, holdPair } from './leg-closing.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { shortfallOf } from './shortfall.js';
import type { LegKind } from '../../domain/order-state.js';
import { resourceOf } from '../../domain/resource.js';
import { OperatorError } from '../../domain/operator-error.js';

interface LegRow {
  readonly id: bigint;
  readonly leg_no: number;
  readonly kind: LegKind;
  readonly wallet_id: number;
  readonly address: string;
  readonly receive_address: string;
  readonly amount_sun: bigint;
  readonly status: string;
  readonly delivered: bigint | null;
}

const FIND = `SELECT l.id, l.leg_no, l.kind, l.wallet_id, w.address, l.receive_address, l.amount_sun, l.status, d.block_number AS delivered
  FROM open_leg l JOIN pool_wallet w ON w.id = l.wallet_id
  LEFT JOIN open_chain_tx d ON d.leg_id = l.id AND d.purpose = 'delegate' AND d.status = 'solid'
  WHERE l.order_id = $1 AND l.kind <> 'activation' AND ($2::integer IS NULL OR l.leg_no = $2) ORDER BY l.leg_no`;

const ON_ITS_WAY = `SELECT encode(txid, 'hex') AS txid FROM open_chain_tx
  WHERE leg_id = $1 AND purpose = 'reclaim' AND status IN ('sending', 'included', 'solid')`;

const MARK_ACT = `UPDATE orphan_tx SET leg_ids = coalesce(leg_ids, '{}') || $2::bigint WHERE txid = decode($1, 'hex')`;

export interface EndedLeg {
  readonly legNo: number;
  readonly amountSun: bigint;
  /** By the chain's clock. */
  readonly at: Date;
}

@Injectable()
export class LegEnds {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
  ) {}

  /**
   * Ends one open leg of an order. Refuses while the chain still shows the delegation, because that must be reclaimed.
   * Throws OperatorError, ChainUnavailableError.
   */
  async close(orderId: bigint, legNo: number | undefined, txid: string | undefined, author: Author): Promise<EndedLeg> {
    const leg = await this.find(orderId, legNo);
    const block = txid === undefined ? await this.solidHead() : await this.blockOfAct(txid, leg);
    const judged = await shortfallOf(this.database, this.client, {
      wallet: { id: leg.wallet_id, address: leg.address },
      receiver: leg.receive_address,
      resource: resourceOf(leg.kind),
      leastHeight: BigInt(block.number),
    });
    if (judged.least === 0n) {
      throw new OperatorError(
        `The chain still shows all ${resourceOf(leg.kind).toLowerCase()} that open orders delegate from ${leg.address} to ` +
          `${leg.receive_address}. ` +
          'Nothing was changed. The worker reclaims it by itself.',
      );
    }
    const at = new Date(block.timestampMs);
    await this.database.transaction(async (tx) => {
      if (!(await holdPair(tx, judged))) {
        throw new OperatorError(
          `Another delegation from ${leg.address} to ${leg.receive_address} ended meanwhile. Nothing was changed. Check the order again.`,
        );
      }
      await refuseWhileOnItsWay(tx, leg);
      const { closed } = await closeLegs(tx, { legIds: [leg.id], at, txid, reason: author.reason });
      if (closed === 0) throw new OperatorError(`Leg ${leg.leg_no.toString()} ended meanwhile. Nothing was changed.`);
      if (txid !== undefined) await tx.query(MARK_ACT, [txid, leg.id]);
      const detail = { leg: leg.leg_no, amountSun: leg.amount_sun, txid: txid ?? null, missingSun: judged.least };
      await recordAct(tx, author, { action: 'orders.close-leg', subject: orderId.toString(), detail });
    });
    return { legNo: leg.leg_no, amountSun: leg.amount_sun, at };
  }

  private async find(orderId: bigint, legNo: number | undefined): Promise<LegRow> {
    const legs = await this.database.query<LegRow>(FIND, [orderId, legNo ?? null]);
    const open = legs.filter(({ status }) => status === 'active' || status === 'reclaiming');
    const [leg, ...more] = open;
    if (leg === undefined) {
      throw new OperatorError(
        'Only a delivered leg that is not reclaimed yet can be closed. Run `orders explain` to see the legs.',
      );
    }
    if (more.length > 0) {
      const numbers = open.map((each) => each.leg_no.toString()).join(', ');
      throw new OperatorError(`The order has several open legs (${numbers}). Choose one with --leg.`);
    }
    if (leg.delivered === null) {
      throw new OperatorError('The delegation is not in a solid block yet. Try again in a minute.');
    }
    return leg;
  }

  private async solidHead(): Promise<BlockHead> {
    return this.client.pool.ask('the solid head', (node) => solidHeadOf(node));
  }

  /** Returns the solid block that holds this undelegation of the leg's wallet from its receiver. */
  private async blockOfAct(txid: string, leg: LegRow): Promise<BlockHead> {
    const block = await this.client.pool.ask('a transaction', async (node) => {
      const place = await solidPlaceOf(node, txid);
      return place === undefined ? undefined : solidBlockOf(node, place.blockNumber);
    });
    const found = block?.transactions.find((tx) => tx.txid === txid && tx.succeeded);
    if (block === undefined || found === undefined) {
      throw new OperatorError(
        'No solid block contains this transaction. Try again in a minute, or close the leg without --txid.',
      );
    }
    const act = found.signed?.act;
    const isOfLeg =
      act?.owner === leg.address && act.receiver === leg.receive_address && act.resource === resourceOf(leg.kind);
    if (act?.type !== UNDELEGATE_TYPE || !isOfLeg || BigInt(block.number) < (leg.delivered ?? 0n)) {
      throw new OperatorError(
        `This transaction did not reclaim ${resourceOf(leg.kind).toLowerCase()} of ${leg.address} from ${leg.receive_address} after the delivery.`,
      );
    }
    const [ours] = await this.database.query<{ order_id: bigint }>(
      `SELECT order_id FROM chain_tx WHERE txid = decode($1, 'hex') AND status NOT IN ('dead', 'dropped')`,
      [txid],
    );
    if (ours !== undefined) {
      throw new OperatorError(`This transaction belongs to the service itself, to order ${ours.order_id.toString()}.`);
    }
    return block;
  }
}

async function refuseWhileOnItsWay(tx: Queryable, leg: LegRow): Promise<void> {
  const [ours] = await tx.query<{ txid: string }>(ON_ITS_WAY, [leg.id]);
  if (ours === undefined) return;
  throw new OperatorError(
    `An undelegation of the service (${ours.txid}) may still reclaim it. ` +
      'Try again once it is included, or proven dead some two minutes later.',
  );
}
