/**
 * Reads the complete record of one order for the operator: its row, legs, transactions, broadcasts, events and credits.
 */
import { Injectable } from '@nestjs/common';
import { EntityManager, In, MoreThanOrEqual } from 'typeorm';
import { Ledger } from '../billing/ledger.js';
import { requeueOrder, resetReclaimPauses } from '../order-records/requeue.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { Broadcast } from '../../platform/database/entities/broadcast.entity.js';
import { ChainTx } from '../../platform/database/entities/chain-tx.entity.js';
import { Event } from '../../platform/database/entities/event.entity.js';
import { Leg } from '../../platform/database/entities/leg.entity.js';
import { OrderExtension } from '../../platform/database/entities/order-extension.entity.js';
import { Order } from '../../platform/database/entities/order.entity.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { ReclaimUsage } from '../../platform/database/entities/reclaim-usage.entity.js';
import { RentalUse } from '../../platform/database/entities/rental-use.entity.js';
import type { OrderStatus } from '../../domain/order-state.js';
import { OperatorError } from '../../domain/operator-error.js';

export interface OrderFilter {
  readonly projectId?: string | undefined;
  readonly status?: OrderStatus | undefined;
  readonly receiver?: string | undefined;
  readonly reference?: string | undefined;
  /** Times as `momentOf` returns them: `from` inclusive, `to` exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly isDue?: boolean | undefined;
  readonly needsAttention?: boolean | undefined;
  readonly limit: number;
}

/** The columns read of an event. Its payload is for the project alone. */
const OF_MOMENT = { id: true, type: true, fromStatus: true, toStatus: true, at: true, chainAt: true } as const;
export type OrderMoment = Pick<Event, keyof typeof OF_MOMENT>;

export interface OrderDetails {
  readonly order: Order;
  readonly legs: readonly Leg[];
  readonly transactions: readonly ChainTx[];
  readonly broadcasts: readonly Broadcast[];
  readonly events: readonly OrderMoment[];
  readonly extensions: readonly OrderExtension[];
  readonly credits: Awaited<ReturnType<Ledger['entriesOf']>>;
  /** The receiver's used energy when reclaims of this rental, or of rentals beside it, were built. */
  readonly usage: readonly ReclaimUsage[];
  /** Energy that the receiver used while the rental ran; null if none was seen. */
  readonly use: RentalUse | null;
  /** Addresses by wallet id. */
  readonly wallets: ReadonlyMap<number, string>;
  /** The database's clock at the read, to compare `next_run_at` and leases with. */
  readonly readAt: Date;
}

/** For an order with many ended rentals beside it, the first ones suffice. */
const USAGE_MAX = 100;
/** For an order that was sent many times, the newest sends suffice. */
const BROADCASTS_MAX = 200;

@Injectable()
export class OrderHistory {
  constructor(
    private readonly entities: EntityManager,
    private readonly ledger: Ledger,
    private readonly database: Database,
  ) {}

  /**
   * Lists orders, newest first: of one project by time, like the project's own lists; of all projects by id. Throws
   * OperatorError.
   */
  async list(filter: OrderFilter): Promise<Order[]> {
    const { projectId: project, status, receiver, reference, from, to } = filter;
    if (project === undefined && [receiver, reference, from, to].some((each) => each !== undefined)) {
      throw new OperatorError('--receiver, --reference, --from and --to need a project. Pass --project.');
    }
    const query = this.entities.createQueryBuilder(Order, 'o').take(filter.limit);
    if (project === undefined) query.orderBy('o.id', 'DESC');
    else query.where({ projectId: project }).orderBy('o.createdAt', 'DESC').addOrderBy('o.id', 'DESC');
    if (status !== undefined) query.andWhere('o.status = :status', { status });
    if (receiver !== undefined) query.andWhere('o.receive_address = :receiver', { receiver });
    if (reference !== undefined) query.andWhere('o.reference = :reference', { reference });
    if (from !== undefined) query.andWhere('o.created_at >= :from', { from });
    if (to !== undefined) query.andWhere('o.created_at < :to', { to });
    if (filter.needsAttention === true) query.andWhere('o.needs_attention AND NOT o.test');
    if (filter.isDue === true) {
      query.andWhere('o.next_run_at <= clock_timestamp()');
      query.andWhere('(o.lease_until IS NULL OR o.lease_until < clock_timestamp())');
    }
    return query.getMany();
  }

  /** Returns an order by its id, or by its key within a project. Throws OperatorError. */
  async find(idOrKey: string, projectId: string | undefined): Promise<Order> {
    const id = /^\d{1,18}$/.test(idOrKey) ? BigInt(idOrKey) : undefined;
    const byNumber = async () =>
      id === undefined ? null : this.entities.findOneBy(Order, { id, ...(projectId && { projectId }) });
    // With a project given, the key takes precedence: a key may also be a number.
    const found =
      projectId === undefined
        ? ((await byNumber()) ?? (await this.findByKeyAlone(idOrKey)))
        : ((await this.entities.findOneBy(Order, { projectId, key: idOrKey })) ?? (await byNumber()));
    if (found === null)
      throw new OperatorError(`There is no order ${idOrKey}. \`orders list\` shows the orders.`, 1, 'NOT_FOUND');
    return found;
  }

  async load(order: Order): Promise<OrderDetails> {
    const orderId = order.id;
    const legs = await this.entities.find(Leg, { where: { orderId }, order: { legNo: 'ASC' } });
    const transactions = await this.entities.find(ChainTx, { where: { orderId }, order: { id: 'ASC' } });
    const broadcasts = await this.entities.find(Broadcast, {
      where: { chainTxId: In(transactions.map((transaction) => transaction.id.toString())) },
      order: { id: 'DESC' },
      take: BROADCASTS_MAX,
    });
    const events = await this.entities.find(Event, { select: OF_MOMENT, where: { orderId }, order: { id: 'ASC' } });
    const extensions = await this.entities.find(OrderExtension, { where: { orderId }, order: { number: 'ASC' } });
    const credits = await this.ledger.entriesOf(orderId, extensions.length);
    const wallets = await this.entities.find(PoolWallet, { select: { id: true, address: true } });
    const usage = await this.findUsageBeside(order, legs);
    const [clock] = await this.database.query<{ now: Date }>(`SELECT clock_timestamp() AS now`);
    return {
      order,
      legs,
      transactions,
      broadcasts: broadcasts.reverse(),
      events,
      extensions,
      credits,
      usage,
      use: await this.entities.findOneBy(RentalUse, { orderId }),
      wallets: new Map(wallets.map((wallet) => [wallet.id, wallet.address])),
      readAt: clock?.now ?? order.createdAt,
    };
  }

  /** Returns the order's own reclaims and, if it was topped up for others, those of its receiver. */
  private async findUsageBeside(order: Order, legs: readonly Leg[]): Promise<ReclaimUsage[]> {
    const isToppedUp = legs.some(({ topUpCause }) => topUpCause === 'usage');
    return this.entities.find(ReclaimUsage, {
      where: isToppedUp
        ? { receiveAddress: order.receiveAddress, readAt: MoreThanOrEqual(order.createdAt) }
        : { orderId: order.id, receiveAddress: order.receiveAddress },
      order: { txId: 'ASC' },
      take: USAGE_MAX,
    });
  }

  /** Makes an unfinished order due now, for the next sweep. Changes nothing else; the worker decides the next step. */
  async requeue(order: Order, act: Author): Promise<Date> {
    return this.database.transaction(async (tx) => {
      const nextRunAt = await requeueOrder(tx, order.id);
      if (nextRunAt === undefined) {
        const why = order.isTest ? 'an order of a test project, which needs no worker' : 'finished';
        throw new OperatorError(`Order ${order.id.toString()} is ${why}.`);
      }
      await resetReclaimPauses(tx, order.id);
      await recordAct(tx, act, {
        action: 'orders.requeue',
        subject: order.id.toString(),
        detail: { status: order.status },
      });
      return nextRunAt;
    });
  }

  private async findByKeyAlone(key: string): Promise<Order | null> {
    const found = await this.entities.find(Order, { where: { key }, take: 2 });
    if (found.length > 1)
      throw new OperatorError('Several projects have an order with this key. Choose one with --project.');
    return found[0] ?? null;
  }
}
