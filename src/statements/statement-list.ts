/** Statements of a project as they are listed, newest first, and one of them. */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, Repository } from 'typeorm';
import { cursorAt, idIn } from '../domain/cursor.js';
import { LedgerStatement } from '../store/entities/statement.entity.js';
import { Replica } from '../store/replica.js';

export interface StatementPage {
  readonly items: readonly LedgerStatement[];
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined;
}

/** Of a statement’s number, which is an integer of Postgres. */
const NUMBER_DIGITS = 9;

@Injectable()
export class StatementList {
  constructor(
    @InjectRepository(LedgerStatement) private readonly statements: Repository<LedgerStatement>,
    private readonly replica: Replica,
  ) {}

  /** The newest closed, of one project or of all. */
  async newest(projectId: string | undefined, limit: number): Promise<LedgerStatement[]> {
    const where = projectId === undefined ? {} : { projectId };
    return this.statements.find({ where, order: { closedAt: 'DESC', projectId: 'ASC', number: 'DESC' }, take: limit });
  }

  /** The newest of a project, after the page that `cursor` ended. Throws 400 INVALID_REQUEST for another cursor. */
  async page(projectId: string, limit: number, cursor: string | undefined): Promise<StatementPage> {
    return this.replica.page(cursor, async (on, after) => {
      const before =
        after === undefined ? {} : { number: LessThan(Number(idIn('s', after, 'statements', NUMBER_DIGITS))) };
      const rows = await on.repository(LedgerStatement).find({
        where: { projectId, ...before },
        order: { number: 'DESC' },
        take: limit + 1,
      });
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items, nextCursor: rows.length > limit && last !== undefined ? cursorAt('s', last.number) : undefined };
    });
  }

  /** `number`: as a path has it. */
  async find(projectId: string, number: string): Promise<LedgerStatement | undefined> {
    if (!/^[1-9]\d{0,8}$/.test(number)) return undefined;
    return (await this.statements.findOneBy({ projectId, number: Number(number) })) ?? undefined;
  }

  /** The one before it; undefined of the first. */
  async before({ projectId, number }: LedgerStatement): Promise<LedgerStatement | undefined> {
    return (await this.statements.findOneBy({ projectId, number: number - 1 })) ?? undefined;
  }
}
