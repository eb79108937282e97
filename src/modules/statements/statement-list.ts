/** Reads statements of a project. */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, Repository } from 'typeorm';
import { cursorAt, idIn } from '../../domain/cursor.js';
import { cutPage, type ListPage } from '../../domain/page.js';
import { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { Replica } from '../../platform/database/replica.js';

/** Digits of a statement's number, a Postgres integer. */
const NUMBER_DIGITS = 9;

@Injectable()
export class StatementList {
  constructor(
    @InjectRepository(LedgerStatement) private readonly statements: Repository<LedgerStatement>,
    private readonly replica: Replica,
  ) {}

  /** Returns the most recently closed statements, of one project or of all. */
  async newest(projectId: string | undefined, limit: number): Promise<LedgerStatement[]> {
    const where = projectId === undefined ? {} : { projectId };
    return this.statements.find({ where, order: { closedAt: 'DESC', projectId: 'ASC', number: 'DESC' }, take: limit });
  }

  /** Returns the project's newest statements after `cursor`. Throws 400 INVALID_REQUEST for an invalid cursor. */
  async page(projectId: string, limit: number, cursor: string | undefined): Promise<ListPage<LedgerStatement>> {
    return this.replica.page(cursor, async (on, after) => {
      const before =
        after === undefined ? {} : { number: LessThan(Number(idIn('s', after, 'statements', NUMBER_DIGITS))) };
      const rows = await on.repository(LedgerStatement).find({
        where: { projectId, ...before },
        order: { number: 'DESC' },
        take: limit + 1,
      });
      return cutPage(rows, limit, ({ number }) => cursorAt('s', number));
    });
  }

  /** `number` is text from a path. */
  async find(projectId: string, number: string): Promise<LedgerStatement | undefined> {
    if (!/^[1-9]\d{0,8}$/.test(number)) return undefined;
    return (await this.statements.findOneBy({ projectId, number: Number(number) })) ?? undefined;
  }

  /** Returns the previous statement; undefined for the first. */
  async before({ projectId, number }: LedgerStatement): Promise<LedgerStatement | undefined> {
    return (await this.statements.findOneBy({ projectId, number: number - 1 })) ?? undefined;
  }
}
