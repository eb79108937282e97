/** Lists deposits, newest first: all of them for the operator, page by page for a project. */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, LessThan, Repository } from 'typeorm';
import type { DepositStatus } from '../../domain/deposit-state.js';
import { cursorAt, idIn } from '../../domain/cursor.js';
import { cutPage, type ListPage } from '../../domain/page.js';
import { Database } from '../../platform/database/database.js';
import { Deposit } from '../../platform/database/entities/deposit.entity.js';
import { Replica } from '../../platform/database/replica.js';
import { withReturns, type ListedDeposit } from './deposit-return-states.js';

export interface DepositFilter {
  readonly merchant?: string;
  readonly status?: DepositStatus;
}

@Injectable()
export class DepositList {
  constructor(
    private readonly database: Database,
    @InjectRepository(Deposit) private readonly deposits: Repository<Deposit>,
    private readonly replica: Replica,
  ) {}

  /** Returns the newest deposits with the states of their returns, for the operator. */
  async list(filter: DepositFilter, limit: number): Promise<ListedDeposit[]> {
    return withReturns(this.database, 'all', await newest(this.deposits, filter, limit));
  }

  /**
   * Returns the newest deposits of a project, after the page that ended at `cursor`. Throws 400 INVALID_REQUEST for a
   * foreign cursor.
   */
  async page(filter: DepositFilter, limit: number, cursor: string | undefined): Promise<ListPage<Deposit>> {
    return this.replica.page(cursor, async (on, after) => {
      const before = after === undefined ? undefined : idIn('d', after, 'deposits');
      const rows = await newest(on.repository(Deposit), filter, limit + 1, before);
      return cutPage(rows, limit, ({ id }) => cursorAt('d', id));
    });
  }
}

async function newest(
  deposits: Repository<Deposit>,
  { merchant, status }: DepositFilter,
  limit: number,
  before?: bigint,
): Promise<Deposit[]> {
  return deposits.find({
    where: {
      ...(merchant !== undefined && { projectId: Any([merchant]) }),
      ...(status !== undefined && { status }),
      ...(before !== undefined && { id: LessThan(before) }),
    },
    // As in `ownedBy`: the order names the project so that no other index than that of the project fits.
    order: { ...(merchant !== undefined && { projectId: 'DESC' }), id: 'DESC' },
    take: limit,
  });
}
