/**
 * The credits of every project. Only this module writes credit_account and credit_entry, except the database functions
 * that charge (take_order, extend_order) and the one that deletes old orders of test projects. All other entries are
 * append-only, and all have a unique key. A balance moves in the transaction of its entry, and its row is locked last.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, In, LessThan, Repository } from 'typeorm';
import type { BatchLoader } from '../../platform/support/batch-loader.js';
import { ApiError, invariant } from '../../domain/errors.js';
import type { Credits } from '../../domain/units.js';
import { recordAct, type Act, type Author } from '../../platform/database/audit-log.js';
import { Database, type Queryable, type Transaction } from '../../platform/database/database.js';
import { CreditEntry } from '../../platform/database/entities/credit-entry.entity.js';
import { rowsByKey } from '../../platform/database/rows-by-key.js';
import { bookedBefore, entryOf, moveBalance, unknownProject, type Booking } from './bookings.js';
import { compensateIn, compensatedIn, type Compensated, type NumberedBooking } from './compensation.js';
import * as sql from './ledger-sql.js';

/** A project's terms of payment. Postpaid without a limit is unlimited. */
export type BillingTerms =
  { readonly kind: 'prepaid' } | { readonly kind: 'postpaid'; readonly debtLimitCredits: Credits | undefined };

export interface Balance {
  readonly balanceCredits: Credits;
  readonly terms: BillingTerms;
  /** Credits that may still be charged; undefined = unlimited. Never negative. */
  readonly availableCredits: Credits | undefined;
  /** The database's clock at the read. */
  readonly readAt: Date;
}

const REFERENCE = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/;
const REFERENCE_LENGTH_MAX = 200;

const CONTRAS = { topup: 'funding', adjustment: 'adjustments' } as const;

/** An entry that an operator books. */
export interface Booked {
  readonly kind: 'topup' | 'adjustment';
  readonly projectId: string;
  readonly credits: Credits;
  readonly reference: string;
}

/** The charge of an order that is refunded. */
export interface RefundedCharge {
  readonly credits: Credits;
  /** The share of its activation, if the chain has it: not returned. */
  readonly kept: Credits;
}

@Injectable()
export class Ledger {
  private readonly accounts: BatchLoader<sql.AccountRow>;

  constructor(
    private readonly database: Database,
    @InjectRepository(CreditEntry) private readonly entries: Repository<CreditEntry>,
  ) {
    this.accounts = rowsByKey(database, sql.FIND_ACCOUNTS);
  }

  /**
   * Opens the account of a project, in the transaction that creates the project. A second account is a unique
   * violation.
   */
  async createAccount(tx: Transaction, projectId: string, terms: BillingTerms, author: Author): Promise<void> {
    await recordAct(tx, author, { action: 'credits.account', subject: projectId, detail: { terms } });
    await tx.query(sql.CREATE_ACCOUNT, [projectId, terms.kind === 'postpaid', floorOf(terms)]);
  }

  /** Adds paid-in credits. `reference` names the payment and is booked only once, ever. */
  async topUp(projectId: string, credits: Credits, reference: string, author: Author): Promise<Booking> {
    if (credits <= 0n) throw new ApiError('INVALID_REQUEST', 'The credits of a top-up must be positive.');
    return this.book({ kind: 'topup', projectId, credits, reference }, author);
  }

  /**
   * Corrects a balance up or down. `reference` is booked only once, ever. A downward correction obeys the limit of the
   * terms like a charge: INSUFFICIENT_CREDITS.
   */
  async adjust(projectId: string, credits: Credits, reference: string, author: Author): Promise<Booking> {
    if (credits === 0n) throw new ApiError('INVALID_REQUEST', 'The credits of an adjustment must not be 0.');
    return this.book({ kind: 'adjustment', projectId, credits, reference }, author);
  }

  /**
   * Refunds an order's charge exactly once. Runs as the last statement of the transaction that makes the order
   * `refunded`, since the balance row is locked last. Returns false when the charge was refunded before.
   */
  async refund(tx: Queryable, orderId: bigint, projectId: string, charge: RefundedCharge): Promise<boolean> {
    const { credits: charged, kept } = charge;
    const credits = charged - kept;
    const [written] = await tx.query(sql.INSERT_REFUND, [orderId, projectId, charged, kept]);
    if (written === undefined) {
      const [before] = await tx.query<{ same: boolean }>(sql.FIND_REFUND, [orderId, projectId, credits]);
      invariant(before?.same === true, 'a refund gives back exactly what its order was charged');
      return false;
    }
    const moved = await tx.query(sql.MOVE_BALANCE_BY_REFUND, [projectId, credits, orderId]);
    invariant(moved.length === 1, 'a refunded project has an account');
    return true;
  }

  /**
   * Gives credits for an order that was not delivered as sold, at most its charges including those of its extensions.
   * Throws INVALID_REQUEST for a larger amount, and before the order is settled, since a refund would return the whole
   * charge. `number` counts the order's compensations from 1 and makes a retry idempotent. Default: the next number.
   */
  async compensate(orderId: bigint, credits: Credits, author: Author, number?: number): Promise<NumberedBooking> {
    if (credits <= 0n) throw new ApiError('INVALID_REQUEST', 'The credits of a compensation must be positive.');
    return this.database.transaction((tx) => compensateIn(tx, { orderId, credits, number }, author));
  }

  /**
   * Returns the credits that may still be given for an order, and the number of its compensations. Zero for an unknown
   * order.
   */
  async compensated(orderId: bigint): Promise<Compensated> {
    return compensatedIn(this.database, orderId);
  }

  /**
   * Enters a deposit. The entry's key is derived from the transfer, so it is entered only once. The balances move last
   * in the transaction (`moveBalances`).
   */
  async enterDeposit(
    tx: Queryable,
    entry: {
      readonly entryKey: string;
      readonly projectId: string;
      readonly credits: Credits;
      readonly actor: string;
      readonly reason: string;
    },
  ): Promise<void> {
    const { entryKey, projectId, credits, actor, reason } = entry;
    const params = [entryKey, projectId, 'funding', 'topup', credits, actor, reason];
    const [written] = await tx.query(sql.INSERT_ENTRY, params);
    invariant(written !== undefined, 'a deposit is entered once');
  }

  /**
   * Withdraws the credits of a returned deposit, in the transaction that records the return. Throws
   * INSUFFICIENT_CREDITS when they are spent.
   */
  async withdrawDeposit(
    tx: Queryable,
    entry: {
      readonly entryKey: string;
      readonly projectId: string;
      readonly credits: Credits;
      readonly author: Author;
    },
  ): Promise<void> {
    const { entryKey, projectId, credits, author } = entry;
    const moved = 0n - (credits as bigint);
    const params = [entryKey, projectId, 'adjustments', 'adjustment', moved, author.actor, author.reason];
    const [written] = await tx.query(sql.INSERT_ENTRY, params);
    invariant(written !== undefined, 'a deposit is given back once');
    const accounts = await tx.query(sql.MOVE_BALANCE, [projectId, moved]);
    if (accounts.length === 0) {
      throw new ApiError(
        'INSUFFICIENT_CREDITS',
        'The project has spent these credits: its balance does not cover the deposit.',
      );
    }
  }

  /**
   * Moves balances by the entries of this transaction. Must be its last statements. Sorted by project, so that
   * concurrent transactions lock in the same order.
   */
  async moveBalances(tx: Queryable, sums: ReadonlyMap<string, bigint>): Promise<void> {
    for (const [projectId, credits] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const moved = await tx.query(sql.MOVE_BALANCE, [projectId, credits]);
      invariant(moved.length === 1, 'a balance takes in what was paid');
    }
  }

  /** Changes how a project pays. The balance never causes a refusal: a lower limit only stops further charges. */
  async setTerms(projectId: string, terms: BillingTerms, author: Author): Promise<void> {
    await this.database.transaction(async (tx) => {
      const changed = await tx.query(sql.SET_TERMS, [projectId, terms.kind === 'postpaid', floorOf(terms)]);
      if (changed.length !== 1) throw unknownProject();
      // Under the account's lock, so that later entries obey the new limit. Times cannot tell: clocks jump.
      const [newest] = await tx.query<{ id: bigint }>(sql.NEWEST_ENTRY, [projectId]);
      const detail = { terms, lastEntryId: newest?.id ?? 0n };
      await recordAct(tx, author, { action: 'credits.terms', subject: projectId, detail });
    });
  }

  /** Freezes or unfreezes a project. Orders in flight check it in their own transaction. */
  async setFrozen(projectId: string, isFrozen: boolean, author: Author): Promise<void> {
    const action = isFrozen ? 'project.freeze' : 'project.unfreeze';
    await this.change(sql.SET_FROZEN, [projectId, isFrozen], { author, action, detail: {} });
  }

  /** Sets the maximum that a project may spend per UTC day, within `tx` if given; undefined removes the cap. */
  async setDailyCap(
    projectId: string,
    capCredits: Credits | undefined,
    author: Author,
    tx?: Transaction,
  ): Promise<void> {
    if (capCredits !== undefined && capCredits < 0n)
      throw new ApiError('INVALID_REQUEST', 'A daily cap must not be negative.');
    const act = { author, action: 'credits.daily-cap', detail: { capCredits } };
    await this.change(sql.SET_DAILY_CAP, [projectId, capCredits ?? null], act, tx);
  }

  /**
   * Sets the balance below which the project gets the event `balance.low`, within `tx` if given; undefined: none. Emits
   * no event itself.
   */
  async setLowBalance(
    projectId: string,
    credits: Credits | undefined,
    author: Author,
    tx?: Transaction,
  ): Promise<void> {
    const act = { author, action: 'credits.low-balance', detail: { credits } };
    await this.change(sql.SET_LOW_BALANCE, [projectId, credits ?? null], act, tx);
  }

  /**
   * Returns the balance and terms of a project; undefined for an unknown one. Concurrent calls share one indexed read.
   */
  async balanceOf(projectId: string): Promise<Balance | undefined> {
    const row = await this.accounts.load(projectId);
    if (row === undefined) return undefined;
    const floor = row.floor_credits;
    const available = floor === null ? undefined : row.balance_credits - floor;
    return {
      balanceCredits: row.balance_credits as Credits,
      terms: row.is_postpaid
        ? { kind: 'postpaid', debtLimitCredits: floor === null ? undefined : (-floor as Credits) }
        : { kind: 'prepaid' },
      availableCredits: available === undefined ? undefined : ((available < 0n ? 0n : available) as Credits),
      readAt: row.read_at,
    };
  }

  /** Returns at most `limit` of a project's entries, newest first; `beforeId` continues a page. */
  async history(projectId: string, limit: number, beforeId?: bigint): Promise<CreditEntry[]> {
    return this.entries.find({
      // As in `ownedBy`: the order names the project so that no other index than that of the project fits.
      where: { projectId: Any([projectId]), ...(beforeId !== undefined && { id: LessThan(beforeId) }) },
      order: { projectId: 'DESC', id: 'DESC' },
      take: limit,
    });
  }

  /** Returns the charges, refund and compensations of an order with this many extensions, oldest first. */
  async entriesOf(orderId: bigint, extensions: number): Promise<CreditEntry[]> {
    const charge = `charge:${orderId.toString()}`;
    const further = Array.from({ length: extensions }, (_, index) => `${charge}:ext:${(index + 1).toString()}`);
    // Charges and refund by their keys, which are indexed.
    const entryKey = In([charge, `refund:${orderId.toString()}`, ...further]);
    return this.entries.find({ where: [{ entryKey }, { kind: 'compensation', orderId }], order: { id: 'ASC' } });
  }

  /**
   * Books like `topUp` and `adjust`, as the last statements of a given transaction, which lock the balance row last.
   */
  async bookIn(tx: Transaction, entry: Booked, author: Author): Promise<Booking> {
    const { kind, projectId, credits, reference } = entry;
    const entryKey = entryKeyOf(entry);
    const params = [entryKey, projectId, CONTRAS[kind], kind, credits, author.actor, author.reason];
    const [written] = await tx.query(sql.INSERT_ENTRY, params);
    if (written === undefined) return this.bookAgain(tx, entry, entryKey);
    await recordAct(tx, author, { action: `credits.${kind}`, subject: projectId, detail: { reference, credits } });
    return { isNew: true, balanceCredits: await moveBalance(tx, projectId, credits) };
  }

  private async book(entry: Booked, author: Author): Promise<Booking> {
    entryKeyOf(entry);
    return this.database.transaction((tx) => this.bookIn(tx, entry, author));
  }

  private async bookAgain(tx: Queryable, entry: Booked, entryKey: string): Promise<Booking> {
    const before = await entryOf(tx, entryKey);
    if (before?.project_id !== entry.projectId || before.credits !== entry.credits) {
      throw new ApiError(
        'INVALID_REQUEST',
        `The reference "${entry.reference}" is already booked for another project or amount. Nothing was booked.`,
      );
    }
    return bookedBefore(tx, entry.projectId);
  }

  private async change(
    statement: { readonly name: string; readonly text: string },
    params: readonly unknown[],
    act: { readonly author: Author } & Omit<Act, 'subject'>,
    tx?: Transaction,
  ): Promise<void> {
    if (tx === undefined) {
      await this.database.transaction((own) => this.change(statement, params, act, own));
      return;
    }
    const projectId = params[0] as string;
    // Under the row's lock, so that the acts are numbered in the order of their effects.
    const changed = await tx.query(statement, params);
    if (changed.length !== 1) throw unknownProject();
    const { author, action, detail } = act;
    await recordAct(tx, author, { action, detail, subject: projectId });
  }
}

/** Returns the unique key of an entry. Throws INVALID_REQUEST for a malformed reference. */
export function entryKeyOf({ kind, reference }: Pick<Booked, 'kind' | 'reference'>): string {
  if (reference.length > REFERENCE_LENGTH_MAX || !REFERENCE.test(reference)) {
    throw new ApiError('INVALID_REQUEST', 'A reference must be 1 to 200 printable ASCII characters.');
  }
  return `${kind}:${reference}`;
}

/** Returns the lowest balance that a charge may leave; null = unlimited. */
function floorOf(terms: BillingTerms): bigint | null {
  if (terms.kind === 'prepaid') return 0n;
  if (terms.debtLimitCredits === undefined) return null;
  if (terms.debtLimitCredits < 0n) throw new ApiError('INVALID_REQUEST', 'A debt limit must not be negative.');
  return 0n - terms.debtLimitCredits;
}
