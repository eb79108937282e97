/**
 * Moves included transactions to their final states by solid blocks: final if their block became solid, reverted if it
 * did not. As many witnesses must agree as for a proof of death, both on the block and on which of our transactions it
 * holds. A block's id alone proves nothing of the bytes that a node shows with it.
 */
import { Injectable } from '@nestjs/common';
import { majorityOf } from '../../../platform/chain/agreement.js';
import type { BlockHead, BlockHeader } from '../../../platform/chain/block.js';
import { NodeError, ignoreNodeError } from '../../../platform/chain/errors.js';
import { History } from '../../../platform/chain/history.js';
import type { TronNode } from '../../../platform/chain/node.js';
import { solidHeaderOf, solidHeadOf, solidPlaceOf, TronClient } from '../../../platform/chain/tron.client.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { Database, isDatabaseAway, type Queryable } from '../../../platform/database/database.js';
import { lockIncluded, markSolid, type LockedTx, type MovedTx } from '../../order-records/block-transitions.js';
import { closeActivationsOf, markLegsReclaimed } from '../../order-records/leg-transitions.js';
import { finishOrders, settleOrders, type SettledOrder } from '../../order-records/order-transitions.js';
import { allOrEach } from '../../../platform/database/all-or-each.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import { Inclusion, newsOf, type RevertedTx } from './inclusion.js';
import { identityOf, FulfilmentEvents } from '../fulfilment-events.js';

const PAGE = 2000;
const PAGE_SIZE = PAGE.toString();

/** Read in pages, so that unsettled transactions never hide the ones after them. */
const WAITING = {
  name: 'txs_waiting_for_solid',
  text: `SELECT id, order_id, txid, block_number, block_id, block_at FROM open_chain_tx
    WHERE stage = 'open' AND status = 'included' AND block_number <= $1 AND (block_number, id) > ($2, $3)
    ORDER BY block_number, id LIMIT ${PAGE_SIZE}`,
};

/** Witnesses that must show a transaction in a block, if as many exist: two, as for a proof of death. */
const ANSWERS_NEEDED = 2;
/** Concurrent look-ups of the transactions of one unreadable block. */
const LOOK_UPS_MAX = 8;

/** The state of a transaction in a block: `unknown` if no node can say, `disputed` if nodes differ. */
type Standing = 'present' | 'absent' | 'unknown' | 'disputed';

interface AgreedBlock extends BlockHead {
  readonly standings: ReadonlyMap<string, Standing>;
}

/** A witness and its header of the block. */
interface Witnessed {
  readonly node: TronNode;
  readonly header: BlockHeader;
}

/** One witness's answer about the transactions. */
interface WitnessAnswer {
  readonly node: TronNode;
  readonly standings: ReadonlyMap<string, Standing>;
}

/** The state of the witnesses within one pass. */
interface WitnessState {
  /** Witnesses that did not answer in time. */
  readonly late: Set<TronNode>;
}

interface WaitingTx {
  id: bigint;
  order_id: bigint;
  txid: Buffer;
  block_number: bigint;
  block_id: Buffer;
  block_at: Date;
}

/** Transactions that a pass left although their block is solid. */
export interface Unsettled {
  readonly left: number;
  readonly fromBlock: number | undefined;
}

@Injectable()
export class Settlement {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly history: History,
    private readonly inclusion: Inclusion,
    private readonly fulfilmentEvents: FulfilmentEvents,
    private readonly log: Log,
  ) {}

  /**
   * Settles all transactions with a block at or below the solid head. A block or an order that fails is logged and does
   * not stop the others. Returns the number of transactions left although their block is solid, and the lowest of their
   * blocks.
   */
  async settle(solid: BlockHead): Promise<Unsettled> {
    const witnessState: WitnessState = { late: new Set() };
    let left = 0;
    let fromBlock: number | undefined;
    let witnessedHeight = Number.POSITIVE_INFINITY;
    for (let after: readonly [bigint, bigint] = [-1n, -1n]; ;) {
      const waiting = await this.database.query<WaitingTx>(WAITING, [solid.number, ...after]);
      const byBlock = new Map<number, WaitingTx[]>();
      for (const tx of waiting) {
        const number = Number(tx.block_number);
        byBlock.set(number, [...(byBlock.get(number) ?? []), tx]);
      }
      for (const [number, txs] of byBlock) {
        const unsettled = number > witnessedHeight ? txs.length : await this.trySettleBlock(number, txs, witnessState);
        left += unsettled;
        if (unsettled > 0 && fromBlock === undefined) {
          fromBlock = number;
          witnessedHeight = await this.readWitnessedHeight(witnessState);
        }
      }
      const last = waiting.at(-1);
      if (last === undefined || waiting.length < PAGE) return { left, fromBlock };
      after = [last.block_number, last.id];
    }
  }

  /** Returns the height up to which enough witnesses have solid blocks. No witness is asked about higher blocks. */
  private async readWitnessedHeight({ late }: WitnessState): Promise<number> {
    const { agreement } = this.client.pool;
    const answers = await Promise.all(
      agreement.witnesses.map(async (node) => {
        const head = late.has(node) ? undefined : await solidHeadOf(node).catch(() => undefined);
        return head === undefined ? [] : [{ node, number: head.number }];
      }),
    );
    const heads = answers.flat().sort((a, b) => b.number - a.number);
    const lowest = heads.find((_, index) => {
      const nodes = heads.slice(0, index + 1).map(({ node }) => node);
      return agreement.suffices(nodes, agreement.isSolidStalled);
    });
    return lowest?.number ?? -1;
  }

  /** Returns how many of a block's transactions are left. */
  private async trySettleBlock(number: number, txs: readonly WaitingTx[], witnessState: WitnessState): Promise<number> {
    try {
      return await this.settleBlock(number, txs, witnessState);
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      this.log.error({ err: error, block: number }, 'failed to settle a block; will retry');
      return txs.length;
    }
  }

  private async settleBlock(number: number, txs: readonly WaitingTx[], witnessState: WitnessState): Promise<number> {
    const block = await this.readAgreedBlock(
      number,
      txs.map(({ txid }) => txid.toString('hex')),
      witnessState,
    );
    if (block === undefined) return txs.length;
    const final: WaitingTx[] = [];
    const reverted: RevertedTx[] = [];
    let unknown = 0;
    for (const tx of txs) {
      const blockId = tx.block_id.toString('hex');
      // Also revert a record whose block time differs: rentals are counted from the block's own time.
      const stands = blockId === block.id && tx.block_at.getTime() === block.timestampMs;
      const where = stands ? (block.standings.get(tx.txid.toString('hex')) ?? 'unknown') : 'absent';
      if (where === 'present') final.push(tx);
      else if (where === 'unknown') unknown += 1;
      else reverted.push({ id: tx.id, orderId: tx.order_id, blockId });
    }
    const unsettled = unknown + (await this.recordFinal(final, block));
    if (reverted.length > 0) this.log.warn({ block: number, count: reverted.length }, 'block reverted');
    return unsettled + (await this.inclusion.revertTransactions(reverted));
  }

  private async recordFinal(final: readonly WaitingTx[], block: BlockHead): Promise<number> {
    if (final.length === 0) return 0;
    let done = 0;
    const failed = await allOrEach(
      final,
      (tx) => tx.order_id,
      async (some) => {
        const solid = await this.database.transaction(async (tx) => recordSolid(tx, some, block));
        this.report(solid, block.number);
        done += solid.orders.length;
      },
    );
    for (const { order, error } of failed) this.fulfilmentEvents.reportNotAdvanced('solid', order, error);
    return final.length - done;
  }

  private report({ orders, moved, settled }: Solid, block: number): void {
    this.fulfilmentEvents.reportTransactions('solid', newsOf(moved, orders), { block });
    const byId = new Map(orders.map((row) => [row.id, identityOf(row)]));
    this.fulfilmentEvents.reportOrders(
      'settled',
      settled.flatMap(({ id, age_sec: ageSec }) => {
        const order = byId.get(id);
        return order === undefined ? [] : [{ order, ageSec }];
      }),
    );
  }

  /**
   * Returns the solid block at `number` that enough witnesses agree on, as for a proof of death; otherwise undefined.
   */
  async readAgreedBlock(
    number: number,
    txids: readonly string[],
    witnessState: WitnessState = { late: new Set() },
  ): Promise<AgreedBlock | undefined> {
    const { agreement } = this.client.pool;
    const heads = await this.readHeaders(number, witnessState);
    const says = heads.map(({ node, header }) => ({ node, says: `${header.id} ${header.timestampMs.toString()}` }));
    const agreed = says.length === 1 ? says[0]?.says : majorityOf(says);
    if (agreed === undefined && heads.length > 1) {
      this.log.error({ block: number }, 'nodes disagree on a solid block');
      agreement.report(
        `the final block ${number.toString()}`,
        heads.map(({ node }) => node),
      );
    }
    const agreeing = heads.filter((_, index) => says[index]?.says === agreed);
    const [first] = agreeing;
    if (first === undefined || !agreement.suffices(nodesOf(agreeing), this.isOut)) return undefined;
    const answers = await this.readAnswers(agreeing, txids);
    if (!agreement.suffices(nodesOf(answers), this.isOut)) return undefined;
    const standings = agreedOn(txids, answers);
    if (isDisputed(standings)) {
      this.log.error({ block: number }, 'nodes disagree on the transactions of a solid block');
      // Drop the cached block: a node that was wrong may answer correctly when read again.
      for (const { node, header } of agreeing) node.blocks.forget(header);
      agreement.report(`the transactions of block ${number.toString()}`, nodesOf(agreeing));
      return undefined;
    }
    const { id, timestampMs } = first.header;
    return { number, id, timestampMs, standings };
  }

  private readonly isOut = (node: TronNode): boolean => this.history.isOut(node, this.client.pool.agreement);

  /**
   * Returns the solid block's header from each witness that answers. Skips witnesses that timed out earlier in this
   * pass.
   */
  private async readHeaders(number: number, { late }: WitnessState): Promise<Witnessed[]> {
    const answers = await Promise.all(
      this.client.pool.agreement.witnesses.map(async (node) => {
        if (late.has(node)) return [];
        try {
          const header = await solidHeaderOf(node, number);
          return header === undefined ? [] : { node, header };
        } catch (error) {
          if (error instanceof NodeError && error.kind === 'timeout') late.add(node);
          this.log.warn({ node: node.name, fault: messageOf(error) }, 'failed to read a solid block from a node');
          return [];
        }
      }),
    );
    return answers.flat();
  }

  /** Returns the answers of enough witnesses: two, and a third if the first two differ, to outvote the wrong one. */
  private async readAnswers(agreeing: readonly Witnessed[], txids: readonly string[]): Promise<WitnessAnswer[]> {
    const first = agreeing.slice(0, ANSWERS_NEEDED);
    const answers = (await Promise.all(first.map(async (each) => this.readAnswer(each, txids)))).flat();
    for (const each of agreeing.slice(ANSWERS_NEEDED)) {
      if (
        answers.length > ANSWERS_NEEDED ||
        (answers.length === ANSWERS_NEEDED && !isDisputed(agreedOn(txids, answers)))
      )
        break;
      answers.push(...(await this.readAnswer(each, txids)));
    }
    return answers;
  }

  /** Returns no answer if the witness knows the state of none of the transactions. */
  private async readAnswer({ node, header }: Witnessed, txids: readonly string[]): Promise<WitnessAnswer[]> {
    try {
      const standings = await standingsAt(node, header, txids);
      if ([...standings.values()].some((standing) => standing !== 'unknown')) return [{ node, standings }];
      // A node without transaction history cannot answer. `keeps` records the time since which the node lacks it.
      await this.history.keeps(node);
      return [];
    } catch (error) {
      ignoreNodeError(error);
      this.log.warn(
        { node: node.name, block: header.number, fault: messageOf(error) },
        'failed to read a solid block from a node',
      );
      return [];
    }
  }
}

function nodesOf(some: readonly { readonly node: TronNode }[]): TronNode[] {
  return some.map(({ node }) => node);
}

/** Returns one witness's answer for each of `txids` in its solid block of this header. Throws NodeError. */
async function standingsAt(
  node: TronNode,
  header: BlockHeader,
  txids: readonly string[],
): Promise<ReadonlyMap<string, Standing>> {
  try {
    const { transactions } = await node.blocks.contentOf('solid', header);
    const present = new Set(transactions.filter((tx) => tx.succeeded).map((tx) => tx.txid));
    return new Map(txids.map((txid) => [txid, present.has(txid) ? 'present' : 'absent']));
  } catch (error) {
    if (!(error instanceof NodeError) || error.kind !== 'unreadable') throw error;
  }
  // Look up one by one. A node that does not return a transaction does not prove its absence.
  const standings = new Map<string, Standing>();
  await forEachConcurrently(txids, LOOK_UPS_MAX, async (txid) => {
    const place = await solidPlaceOf(node, txid);
    const isThere = place?.blockNumber === header.number && place.succeeded;
    standings.set(txid, isThere ? 'present' : 'unknown');
  });
  return standings;
}

function isDisputed(standings: ReadonlyMap<string, Standing>): boolean {
  return [...standings.values()].includes('disputed');
}

/** Combines the answers: two equal ones decide, or the only one. */
function agreedOn(txids: readonly string[], answers: readonly WitnessAnswer[]): Map<string, Standing> {
  const needed = Math.min(ANSWERS_NEEDED, answers.length);
  return new Map(
    txids.map((txid): [string, Standing] => {
      const count = (standing: Standing): number =>
        answers.filter(({ standings }) => standings.get(txid) === standing).length;
      const [present, absent] = [count('present'), count('absent')];
      if (present > 0 && absent > 0 && present === absent) return [txid, 'disputed'];
      if (present >= needed) return [txid, 'present'];
      return [txid, absent >= needed ? 'absent' : 'unknown'];
    }),
  );
}

interface Solid {
  /** One row for each transaction that could be locked. */
  readonly orders: readonly LockedTx[];
  readonly moved: readonly MovedTx[];
  readonly settled: readonly SettledOrder[];
}

async function recordSolid(tx: Queryable, final: readonly WaitingTx[], block: BlockHead): Promise<Solid> {
  const locked = await lockIncluded(
    tx,
    final.map((entry) => entry.id),
  );
  const moved = await markSolid(
    tx,
    locked.map((row) => row.tx_id),
    block.id,
  );
  const orders = [...new Set(moved.map((entry) => entry.order_id))];
  const returned = moved.filter((entry) => entry.purpose === 'reclaim').map((entry) => entry.leg_id);
  if (returned.length > 0) await markLegsReclaimed(tx, returned);
  const settled = returned.length < moved.length ? await settleOrders(tx, orders) : [];
  const activated = settled.filter((order) => order.has_activation).map(({ id }) => id);
  if (activated.length > 0) await closeActivationsOf(tx, activated);
  await finishOrders(tx, orders);
  return { orders: locked, moved, settled };
}
