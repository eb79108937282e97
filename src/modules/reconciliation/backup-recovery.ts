/**
 * Restores records that a restored backup lacks. An act of our own key in a solid block is recorded as the transaction
 * of the leg that waits for it. The order is then neither delivered twice nor refunded. A reclaim that was made is not
 * repeated. A second one would end another rental of the same receiver.
 */
import { Injectable } from '@nestjs/common';
import type { Block, BlockHeader } from '../../platform/chain/block.js';
import type { TronNode } from '../../platform/chain/node.js';
import { parseTransaction } from '../../platform/chain/signed-transaction.js';
import {
  CREATE_ACCOUNT_TYPE,
  DELEGATE_TYPE,
  UNDELEGATE_TYPE,
  type OwnedAct,
} from '../../platform/chain/transaction-owner.js';
import { solidHeaderOf, solidPlaceOf, TronClient } from '../../platform/chain/tron.client.js';
import { Log } from '../../platform/observability/logger.js';
import type { ChainTxPurpose, LegKind } from '../../domain/order-state.js';
import { delegationKind } from '../../domain/resource.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import type { UnrecordedAct } from '../verify/unrecorded-acts.js';
import type { NetworkTotals } from '../pool/bandwidth-stake.js';
import { Inclusion } from '../fulfilment/follow/inclusion.js';
import { Settlement } from '../fulfilment/follow/settlement.js';
import {
  dropUnsentBeside,
  markFoundActSent,
  markFoundActSigned,
  moveLegOfAct,
  recordFoundAct,
  takeOrderOfAct,
  type FoundAct,
} from '../order-records/recovery-transitions.js';

/** Maximum lag of the chain's clock behind the database's clock, which dates orders. */
const CLOCKS_APART_SEC = 60;

/**
 * More than one wallet ever has pending delegations to one receiver. An undelegation without a match is kept as an
 * orphan.
 */
const OPEN_DELIVERIES_MAX = 20;

/** Finds the leg whose record of these exact bytes says that they were never sent. */
const LEG_BY_TXID = `SELECT t.leg_id FROM open_chain_tx t WHERE t.txid = $1 AND t.status IN ('built', 'signed')`;

/**
 * Finds the oldest leg that waits for this act: no transaction of its purpose is pending or in a block. A reclaim must
 * come after the rental's end, or belong to an order that is being undone or was not delivered; we reclaim nothing
 * else. A leg with unsent bytes sorts last, because those may be the next act of the same kind on chain.
 */
const WAITING_LEG = `SELECT l.id AS leg_id FROM open_leg l JOIN open_orders o ON o.id = l.order_id
  WHERE l.wallet_id = $1 AND l.receive_address = $2 AND ($3::bigint IS NULL OR l.amount_sun = $3)
    AND l.status = ANY (CASE WHEN $4 = 'reclaim' THEN ARRAY['active', 'reclaiming'] ELSE ARRAY['reserved', 'placed'] END)
    AND l.kind = $8
    AND o.created_at <= $5::timestamptz + $6 * interval '1 second'
    AND ($4 <> 'reclaim' OR ((o.ends_at <= $5 OR o.undoing OR o.status IN ('placed', 'unresolved')) AND EXISTS (
      SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'delegate' AND t.status = 'solid' AND t.block_number <= $7)))
    AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose = $4
                     AND t.status IN ('sending', 'included', 'solid'))
  ORDER BY EXISTS (SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose = $4
                    AND t.status IN ('built', 'signed')), (o.ends_at <= $5) IS NOT TRUE, NOT o.undoing, l.id LIMIT 1`;

/**
 * Deliveries that an undelegation may belong to and that the records don't show as final. The commit that made them
 * final may be lost, or the follower may be slower than the search.
 */
const OPEN_DELIVERIES = `SELECT t.txid FROM open_chain_tx t JOIN open_leg l ON l.id = t.leg_id
  WHERE l.wallet_id = $1 AND l.receive_address = $2 AND ($3::bigint IS NULL OR l.amount_sun = $3) AND l.kind = $4
    AND l.status IN ('placed', 'active') AND t.purpose = 'delegate' AND t.status IN ('sending', 'included')
  ORDER BY t.id LIMIT ${OPEN_DELIVERIES_MAX.toString()}`;

type SingleSignedAct = UnrecordedAct & { readonly signature: Buffer };

/** An act of our own key that may belong to a waiting order. */
export interface Recallable {
  readonly act: SingleSignedAct;
  readonly expiresAtMs: number;
  readonly ratio: NetworkTotals;
}

/** An act that is in the records again. */
export interface Recalled {
  readonly orderId: bigint;
  readonly txid: string;
  readonly ratio: NetworkTotals;
}

@Injectable()
export class BackupRecovery {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly inclusion: Inclusion,
    private readonly settlement: Settlement,
    private readonly log: Log,
  ) {}

  /**
   * Reads everything that `recall` needs. Returns undefined if no order can wait for such an act. For an undelegation,
   * records the delivery that it may belong to. Throws ChainUnavailableError.
   */
  async prepare(found: UnrecordedAct, block: Block): Promise<Recallable | undefined> {
    const { signature } = found;
    const parsed = parseTransaction(found.rawData);
    if (!found.byOwnKey || signature === undefined || parsed === undefined) return undefined;
    const ratio = await this.client.accountResources(found.act.owner);
    if (found.act.type === UNDELEGATE_TYPE) await this.followDeliveries(found, block, ratio);
    return { act: { ...found, signature }, expiresAtMs: parsed.expiresAtMs, ratio };
  }

  /** Assigns the act to the order that waits for it. Returns undefined, without changes, if there is none. */
  async recall(tx: Queryable, { act, expiresAtMs, ratio }: Recallable, block: Block): Promise<Recalled | undefined> {
    await tx.query('SAVEPOINT recall');
    try {
      const orderId = await recall(tx, act, block, expiresAtMs);
      return orderId === undefined ? undefined : { orderId, txid: act.txid, ratio };
    } catch (error) {
      if (!(error instanceof NothingWaits)) throw error;
      await tx.query('ROLLBACK TO SAVEPOINT recall');
      return undefined;
    }
  }

  /**
   * Marks the recalled transaction as included and final, since its block is solid; call it after the commit. A reclaim
   * in a later block matches only a final delivery. If the process dies here, the order's own look-up completes this.
   */
  async include({ orderId, txid, ratio }: Recalled, block: Block): Promise<void> {
    await this.inclusion.includeBlock(block, [txid], ratio);
    await this.settlement.settle(block);
    const fields = { orderId: orderId.toString(), txid, block: block.number };
    this.log.error(fields, 'lost transaction recovered from the chain');
  }

  /**
   * Records the deliveries that an undelegation may belong to in their state on chain. Throws ChainUnavailableError.
   */
  private async followDeliveries({ act, walletId }: UnrecordedAct, block: Block, ratio: NetworkTotals): Promise<void> {
    const pair = [walletId, act.receiver, act.amountSun ?? null, kindOf(act)];
    const open = await this.database.query<{ txid: Buffer }>(OPEN_DELIVERIES, pair);
    if (open.length === 0) return;
    for (const { txid } of open) {
      const id = txid.toString('hex');
      const header = await this.client.pool.ask('the block of a delivery', (node) => solidBlockOf(node, id));
      if (header !== undefined && header.number <= block.number) await this.inclusion.includeBlock(header, [id], ratio);
    }
    await this.settlement.settle(block);
  }
}

/** Returns the solid block in which the transaction succeeded, according to this node. Throws NodeError. */
async function solidBlockOf(node: TronNode, txid: string): Promise<BlockHeader | undefined> {
  const place = await solidPlaceOf(node, txid);
  return place?.succeeded === true ? solidHeaderOf(node, place.blockNumber) : undefined;
}

/** Thrown to roll back to the savepoint. */
class NothingWaits extends Error {}

async function recall(
  tx: Queryable,
  recallable: SingleSignedAct,
  block: Block,
  expiresAtMs: number,
): Promise<bigint | undefined> {
  const { act, walletId, rawData, signature } = recallable;
  const txid = Buffer.from(recallable.txid, 'hex');
  const purpose = purposeOf(act.type);
  const at = new Date(block.timestampMs);
  const [recorded] = await tx.query<{ leg_id: bigint }>(LEG_BY_TXID, [txid]);
  const pair = [walletId, act.receiver, act.amountSun ?? null];
  const waiting = [...pair, purpose, at, CLOCKS_APART_SEC, block.number, kindOf(act)];
  const [leg] = recorded === undefined ? await tx.query<{ leg_id: bigint }>(WAITING_LEG, waiting) : [recorded];
  if (leg === undefined) return undefined;
  const found: FoundAct = {
    legId: leg.leg_id,
    purpose,
    walletId,
    txid,
    rawData,
    signature,
    block: block.number,
    expiresAtMs,
  };
  const orderId = await takeOrderOfAct(tx, found);
  if (orderId === undefined) return undefined;
  await dropUnsentBeside(tx, found);
  if (recorded === undefined) {
    // Another worker recorded a transaction between the read and the lock.
    if (!(await recordFoundAct(tx, orderId, found))) throw new NothingWaits();
  } else {
    await markFoundActSigned(tx, found);
    await markFoundActSent(tx, found);
  }
  await moveLegOfAct(tx, found);
  return orderId;
}

function purposeOf(type: number): ChainTxPurpose {
  if (type === CREATE_ACCOUNT_TYPE) return 'activate';
  return type === DELEGATE_TYPE ? 'delegate' : 'reclaim';
}

/** Returns the kind of the legs that an act may belong to. */
function kindOf({ type, resource = 'ENERGY' }: OwnedAct): LegKind {
  return type === CREATE_ACCOUNT_TYPE ? 'activation' : delegationKind(resource);
}
