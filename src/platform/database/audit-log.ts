/**
 * Append-only log of the operators' acts, written in the transaction of each act. A trigger prevents changes and sets
 * the time and the database roles.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { systemUser } from '../support/system-user.js';
import type { Transaction } from './database.js';
import { AuditEntry } from './entities/audit-entry.entity.js';

/** The author of an act, as stated by the author, and the reason; both are kept forever. */
export interface Author {
  readonly actor: string;
  readonly reason: string;
}

/** One act of an operator. */
export interface Act {
  /** Group and act, for example `credits.topup`. */
  readonly action: string;
  /** An id. */
  readonly subject: string;
  /** The change, without secrets; bigints become strings. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Records evidence in the transaction of an act: the request's nonce, or the operator's name. */
export type Witness = (
  tx: Transaction,
  action: string,
  projectId: string,
  detail: Readonly<Record<string, unknown>>,
) => Promise<void>;

/** Returns a witness that records an operator's act in the audit log. */
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

/** A filter of entries; an absent member does not restrict. */
export interface AuditFilter {
  readonly by?: string | undefined;
  /** A database role: the role that the act ran as, or the login. */
  readonly role?: string | undefined;
  /** A prefix of the action: `orders` matches all acts on orders. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Only entries older than this one. */
  readonly before?: bigint | undefined;
}

const CONDITIONS: Readonly<Record<keyof AuditFilter, string>> = {
  by: 'e.actor = :by',
  role: ':role IN (e.login_role, e.acting_role)',
  action: 'starts_with(e.action, :action)',
  subject: 'e.subject = :subject',
  since: 'e.at >= :since',
  until: 'e.at < :until',
  before: 'e.id < :before',
};

@Injectable()
export class AuditLog {
  constructor(@InjectRepository(AuditEntry) private readonly entries: Repository<AuditEntry>) {}

  /** Returns the matching entries, newest first. */
  async list(filter: AuditFilter, limit: number): Promise<AuditEntry[]> {
    const query = this.entries.createQueryBuilder('e').orderBy('e.id', 'DESC').take(limit);
    for (const [name, value] of Object.entries(filter)) {
      if (value !== undefined) query.andWhere(CONDITIONS[name as keyof AuditFilter], { [name]: value as unknown });
    }
    return query.getMany();
  }
}
