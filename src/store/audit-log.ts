/**
 * What operators did to the service, with who and why, in the transaction that did it. Append-only by trigger; when it was
 * and by which role of the database, a trigger writes.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { systemUser } from '../base/system-user.js';
import type { Transaction } from './database.js';
import { AuditEntry } from './entities/audit-entry.entity.js';

/** Who acts, as they say themselves, and for what reason; both are kept for ever. */
export interface Author {
  readonly actor: string;
  readonly reason: string;
}

/** One act of an operator. */
export interface Act {
  /** Group and act, as `credits.topup`. */
  readonly action: string;
  /** An id. */
  readonly subject: string;
  /** What it changed, and nothing secret; bigints become strings. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What goes into the transaction of an act beside it: the request's nonce, or the operator's name. */
export type Witness = (
  tx: Transaction,
  action: string,
  projectId: string,
  detail: Readonly<Record<string, unknown>>,
) => Promise<void>;

/** The act of an operator on a project, with who and why. */
export const audited =
  (author: Author): Witness =>
  async (tx, action, subject, detail) =>
    recordAct(tx, author, { action, subject, detail });

export async function recordAct(
  tx: Transaction,
  { actor, reason }: Author,
  { action, subject, detail }: Act,
): Promise<void> {
  await tx
    .repository(AuditEntry)
    .insert({ actor, action, subject, reason, detail: plain(detail), osUser: systemUser() });
}

function plain(detail: Readonly<Record<string, unknown>>): Record<string, string> {
  const json = JSON.stringify(detail, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
  return JSON.parse(json) as Record<string, string>;
}

/** Which entries are wanted; what is not named is not read. */
export interface AuditFilter {
  readonly by?: string | undefined;
  /** Of the database: as whom the act ran, or who had logged in. */
  readonly role?: string | undefined;
  /** Its beginning, since `orders` is all that was done to orders. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Only entries older than this one. */
  readonly before?: bigint | undefined;
  /** Only this entry and younger ones. */
  readonly from?: bigint | undefined;
}

const CONDITIONS: Readonly<Record<keyof AuditFilter, string>> = {
  by: 'e.actor = :by',
  role: ':role IN (e.login_role, e.acting_role)',
  action: 'starts_with(e.action, :action)',
  subject: 'e.subject = :subject',
  since: 'e.at >= :since',
  until: 'e.at < :until',
  before: 'e.id < :before',
  from: 'e.id >= :from',
};

@Injectable()
export class AuditLog {
  constructor(@InjectRepository(AuditEntry) private readonly entries: Repository<AuditEntry>) {}

  /** Newest first. */
  async list(filter: AuditFilter, limit: number): Promise<AuditEntry[]> {
    const query = this.entries.createQueryBuilder('e').orderBy('e.id', 'DESC').take(limit);
    for (const [name, value] of Object.entries(filter)) {
      if (value !== undefined) query.andWhere(CONDITIONS[name as keyof AuditFilter], { [name]: value as unknown });
    }
    return query.getMany();
  }
}
