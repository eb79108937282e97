/**
 * Credits above the amount that one admin may book alone, and decisions on held deposits above it: one admin requests,
 * another approves or rejects, and the request is carried out once. The only writer of credit_request. Locks the
 * request's row first, the balance last.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Not, Repository } from 'typeorm';
import { ConsoleError } from '../../domain/console-error.js';
import { ApiError, invariant } from '../../domain/errors.js';
import type { Credits } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { CreditRequest } from '../../platform/database/entities/credit-request.entity.js';
import type { Booking } from './bookings.js';
import { entryKeyOf, Ledger, type Booked } from './ledger.js';
import { FIND_ENTRY } from './ledger-sql.js';

/** An admin. The requesting and the deciding admin must differ. */
export interface Admin {
  readonly personId: string;
  readonly email: string;
}

/** A booking, or the credit or refusal of a held deposit. */
export type RequestKind = CreditRequest['kind'];

/** The reference of a deposit is that of its ledger entry: `deposit:<reference>`. */
export type Requested = Omit<Booked, 'kind'> & { readonly kind: RequestKind };

/** Carries out an approved decision on a held deposit, in the transaction of the approval. */
export type DepositDecision = (
  tx: Transaction,
  request: Pick<Requested, 'reference' | 'credits'> & { readonly isCredited: boolean },
  author: Author,
) => Promise<void>;

interface RequestRow {
  readonly project_id: string;
  readonly kind: RequestKind;
  readonly credits: bigint;
  readonly reference: string;
  readonly reason: string;
  readonly asked_by: string;
  readonly asked_by_email: string;
  readonly status: CreditRequest['status'];
  readonly decided_by_email: string | null;
}

const SHOWN = 100;

const INSERT = {
  name: 'credit-request-insert',
  text: `INSERT INTO credit_request (id, project_id, kind, credits, reference, reason, asked_by, asked_by_email)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING id`,
};

const SAME = {
  name: 'credit-request-same',
  text: `SELECT project_id = $2 AND kind = $3 AND credits = $4 AND reference = $5 AND asked_by = $6 AS same
           FROM credit_request WHERE id = $1`,
};

const LOCK = {
  name: 'credit-request-lock',
  text: `SELECT project_id, kind, credits, reference, reason, asked_by, asked_by_email, status, decided_by_email
           FROM credit_request WHERE id = $1 FOR UPDATE`,
};

const DECIDE = {
  name: 'credit-request-decide',
  text: `UPDATE credit_request SET status = $2, decided_by = $3, decided_by_email = $4, decision_reason = $5,
                decided_at = clock_timestamp() WHERE id = $1 AND status = 'pending' RETURNING id`,
};

@Injectable()
export class CreditRequests {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    @InjectRepository(CreditRequest) private readonly requests: Repository<CreditRequest>,
  ) {}

  /** Lists pending requests, oldest first, then decided ones by the time of the request, newest first. */
  async list(): Promise<CreditRequest[]> {
    const waiting = await this.requests.find({ where: { status: 'pending' }, order: { askedAt: 'ASC' }, take: SHOWN });
    const decided = await this.requests.find({
      where: { status: Not('pending') },
      order: { askedAt: 'DESC' },
      take: SHOWN,
    });
    return [...waiting, ...decided];
  }

  async find(id: string): Promise<CreditRequest> {
    const found = await this.requests.findOneBy({ id });
    if (found === null) throw unknownRequest();
    return found;
  }

  /**
   * Records a request for another admin's approval. Sending the same request again is an idempotent replay. Throws
   * CONFLICT for a different request with this id, and for a payment that is already requested or booked.
   */
  async requestCredits(id: string, entry: Requested, asker: Admin, reason: string): Promise<void> {
    const { projectId, kind, credits, reference } = entry;
    const entryKey = isOfDeposit(kind) ? `deposit:${reference}` : entryKeyOf({ kind, reference });
    await this.database.transaction(async (tx) => {
      const params = [id, projectId, kind, credits, reference, reason, asker.personId, asker.email];
      const [written] = await tx.query(INSERT, params);
      if (written === undefined) {
        const [before] = await tx.query<{ same: boolean }>(SAME, [
          ...[id, projectId, kind, credits, reference],
          asker.personId,
        ]);
        if (before?.same === true) return;
        throw new ConsoleError('CONFLICT', `“${reference}” has already been requested. Nothing was requested again.`);
      }
      // An early check while the admin can still correct it. The entry's unique key decides at booking time.
      const booked = await tx.query(FIND_ENTRY, [entryKey]);
      if (booked.length > 0) throw new ConsoleError('CONFLICT', bookedAlready(reference));
      await recordAct(
        tx,
        { actor: asker.email, reason },
        { action: 'credits.ask', subject: projectId, detail: { request: id, kind, reference, credits } },
      );
    });
  }

  /**
   * Books a request in the transaction that records the approval: exactly once, even with retries and concurrent
   * approvals. Returns undefined for a decision on a deposit, which `decideDeposit` carries out. Throws FORBIDDEN for
   * the requesting admin, CONFLICT when it is already decided or booked by other means, and any error of the booking.
   * After an error the request stays pending.
   */
  async approve(
    id: string,
    admin: Admin,
    reason: string,
    decideDeposit: DepositDecision,
  ): Promise<Booking | undefined> {
    return this.database.transaction(async (tx) => {
      const row = await this.decide(tx, id, admin, { status: 'approved', reason });
      const { project_id: projectId, kind, credits, reference } = row;
      if (isOfDeposit(kind)) {
        const request = { reference, credits: credits as Credits, isCredited: kind === 'deposit' };
        // The project can read this reason, so it names no person.
        await decideDeposit(tx, request, { actor: admin.email, reason: row.reason });
        return undefined;
      }
      const author = { actor: admin.email, reason: `${row.reason} (requested by ${row.asked_by_email})` };
      const entry = { kind, projectId, credits: credits as Credits, reference };
      const booking = await this.ledger.bookIn(tx, entry, author);
      if (!booking.isNew) throw new ConsoleError('CONFLICT', `${bookedAlready(reference)} Reject the request.`);
      return booking;
    });
  }

  /** Rejects a request without booking. Throws FORBIDDEN and CONFLICT as `approve` does. */
  async reject(id: string, admin: Admin, reason: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.decide(tx, id, admin, { status: 'rejected', reason });
    });
  }

  private async decide(
    tx: Transaction,
    id: string,
    admin: Admin,
    { status, reason }: { readonly status: 'approved' | 'rejected'; readonly reason: string },
  ): Promise<RequestRow> {
    const [row] = await tx.query<RequestRow>(LOCK, [id]);
    if (row === undefined) throw unknownRequest();
    if (row.asked_by === admin.personId) {
      throw new ConsoleError('FORBIDDEN', 'You requested this booking, so another admin must decide.');
    }
    if (row.status !== 'pending') {
      throw new ConsoleError(
        'CONFLICT',
        `The request was already ${row.status} by ${row.decided_by_email ?? 'another admin'}.`,
      );
    }
    const decided = await tx.query(DECIDE, [id, status, admin.personId, admin.email, reason]);
    invariant(decided.length === 1, 'a locked request that waits is decided');
    await recordAct(
      tx,
      { actor: admin.email, reason },
      {
        action: status === 'approved' ? 'credits.approve' : 'credits.reject',
        subject: row.project_id,
        detail: { request: id, reference: row.reference, credits: row.credits, askedBy: row.asked_by_email },
      },
    );
    return row;
  }
}

const isOfDeposit = (kind: RequestKind): kind is 'deposit' | 'refusal' => kind === 'deposit' || kind === 'refusal';

const bookedAlready = (reference: string): string =>
  `“${reference}” is already booked in the ledger. Nothing was booked.`;

const unknownRequest = (): ApiError => new ApiError('NOT_FOUND', 'There is no credit request with this ID.');
