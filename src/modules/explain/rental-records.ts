/** Reads the rentals of an address around a transaction: their delegations and the places of these in the chain. */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, LessThanOrEqual, MoreThan, MoreThanOrEqual, IsNull, Repository, type FindOptionsWhere } from 'typeorm';
import { Database } from '../../platform/database/database.js';
import { ChainTx } from '../../platform/database/entities/chain-tx.entity.js';
import { Leg } from '../../platform/database/entities/leg.entity.js';
import { Order } from '../../platform/database/entities/order.entity.js';
import type { DelegationRecord, RentalRecord } from './explain-facts.js';

/** Orders of the address that were delivered before the transaction, the newest first; further ones are not searched. */
const BEFORE_MAX = 50;
const AFTER_MAX = 20;
const IN_BLOCK: ReadonlySet<string> = new Set(['included', 'solid']);
const OPEN_STATUSES = ['reserved', 'placed', 'delivered', 'unresolved'] as const;

/** $1 projects, $2 addresses. Uses index orders_receiver for each pair. */
const FIND_RECEIVERS = `SELECT a.address FROM unnest($2::text[]) WITH ORDINALITY AS a (address, place)
   WHERE EXISTS (SELECT FROM unnest($1::uuid[]) AS p (id)
                   JOIN LATERAL (SELECT FROM orders o WHERE o.project_id = p.id AND o.receive_address = a.address
                                    AND NOT o.test LIMIT 1) found ON true)
   ORDER BY a.place`;
const FIND_PROJECTS = `SELECT id FROM project WHERE NOT test`;

@Injectable()
export class RentalRecords {
  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    @InjectRepository(Leg) private readonly legs: Repository<Leg>,
    @InjectRepository(ChainTx) private readonly transactions: Repository<ChainTx>,
    private readonly database: Database,
  ) {}

  /** Returns all projects that are not for tests, for an operator who names none. */
  async projects(): Promise<readonly string[]> {
    const rows = await this.database.query<{ id: string }>(FIND_PROJECTS);
    return rows.map(({ id }) => id);
  }

  /** Returns those of `addresses` that have live orders of these projects, in the given order. */
  async receiversAmong(projectIds: readonly string[], addresses: readonly string[]): Promise<readonly string[]> {
    const rows = await this.database.query<{ address: string }>(FIND_RECEIVERS, [projectIds, addresses]);
    return rows.map(({ address }) => address);
  }

  /**
   * Returns the rentals of an address around a time of the chain: those delivered before it, newest first, and those
   * that came later or are open. `delivered_at` is the chain's time; the time of the order only bounds the search.
   */
  async rentalsAround(
    projectIds: readonly string[],
    receiver: string,
    timestampMs: number,
  ): Promise<readonly RentalRecord[]> {
    const at = new Date(timestampMs);
    const rentals: FindOptionsWhere<Order> = {
      projectId: In([...projectIds]),
      receiveAddress: receiver,
      kind: 'rental',
      isTest: false,
    };
    const select = { id: true, key: true, energy: true, createdAt: true } as const;
    const before = await this.orders.find({
      select,
      where: { ...rentals, deliveredAt: LessThanOrEqual(at) },
      order: { createdAt: 'DESC', id: 'DESC' },
      take: BEFORE_MAX,
    });
    const open = {
      ...rentals,
      status: In([...OPEN_STATUSES]),
      ...(before.length > 0 && { createdAt: MoreThanOrEqual(before[before.length - 1]?.createdAt ?? at) }),
    };
    const after = await this.orders.find({
      select,
      where: [
        { ...open, deliveredAt: MoreThan(at) },
        { ...open, deliveredAt: IsNull() },
      ],
      order: { createdAt: 'ASC', id: 'ASC' },
      take: AFTER_MAX,
    });
    return this.withDelegations([...before, ...after]);
  }

  private async withDelegations(orders: readonly Order[]): Promise<readonly RentalRecord[]> {
    if (orders.length === 0) return [];
    const orderId = In(orders.map(({ id }) => id.toString()));
    const legs = await this.legs.find({ where: { orderId }, order: { orderId: 'ASC', legNo: 'ASC' } });
    const transactions = await this.transactions.find({
      select: {
        id: true,
        legId: true,
        purpose: true,
        status: true,
        txid: true,
        blockNumber: true,
        refBlockNumber: true,
      },
      where: { orderId, status: In(['signed', 'sending', 'included', 'solid']) },
    });
    return orders.map(({ id, key, energy }) => {
      const own = legs.filter((leg) => leg.orderId === id && leg.kind === 'rental' && leg.status !== 'released');
      const staked = own.reduce((sum, { amountSun }) => sum + amountSun, 0n);
      return {
        key,
        delegations: own.map((leg) => ({
          ...placesOf(
            leg,
            transactions.filter(({ legId }) => legId === leg.id),
          ),
          // Before the delivery a delegation counts with its share of the energy sold.
          energy: leg.energy ?? (staked === 0n ? 0n : ((energy ?? 0n) * leg.amountSun) / staked),
        })),
      };
    });
  }
}

function placesOf(leg: Leg, transactions: readonly ChainTx[]): Omit<DelegationRecord, 'energy'> {
  const delegation = transactions.find(({ purpose }) => purpose === 'delegate');
  const reclaim = transactions.find(({ purpose, status }) => purpose === 'reclaim' && IN_BLOCK.has(status));
  return {
    begun: placeOf(delegation),
    afterBlock: delegation === undefined ? undefined : Number(delegation.refBlockNumber),
    ended: placeOf(reclaim),
    endedAtMs: leg.closedAt?.getTime(),
  };
}

function placeOf(transaction: ChainTx | undefined): DelegationRecord['begun'] {
  if (transaction === undefined) return undefined;
  const { blockNumber, status, txid } = transaction;
  if (blockNumber === null || !IN_BLOCK.has(status)) return undefined;
  return { blockNumber: Number(blockNumber), txid: txid.toString('hex') };
}
