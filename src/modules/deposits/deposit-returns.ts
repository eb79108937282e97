/**
 * Returns deposits to their payers. The credits leave the ledger first, then an unsigned transaction is built that pays
 * the deposit back. Only one transaction exists at a time, so that nothing is paid twice. The only writer of
 * deposit_return.
 */
import { Injectable } from '@nestjs/common';
import { Ledger } from '../billing/ledger.js';
import { isAddress } from '../../domain/base58-address.js';
import { fingerprintOf } from '../../domain/fingerprint.js';
import type { DepositAsset, DepositStatus } from '../../domain/deposit-state.js';
import { invariant } from '../../domain/errors.js';
import { OperatorError } from '../../domain/operator-error.js';
import { credits as creditsFrom, type Credits } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { DEPOSIT_OUTFLOWS, OUTFLOW_IDENTITY, UNEXPLAINED_OUTFLOWS } from '../../platform/database/deposit-outflows.js';
import { RETURN_IS_PAID } from '../../platform/database/paid-return.js';
import { Holdings, type DepositPlace } from './holdings.js';
import { OWN_SENDERS } from './deposit-sql.js';
import { DepositTokens } from './deposit-tokens.js';
import { creditsOfWorth } from './judgement.js';
import { DepositTransfers, type PlannedTransfer } from './deposit-transfers.js';
import { CONTRACT_RECEIVER } from './sweep-draft.js';
import { FAILURES, TransferTrials, type TokenTrial } from './transfer-trials.js';

interface ReturnedRow {
  readonly id: bigint;
  readonly project_id: string;
  readonly address: string;
  readonly account: bigint;
  readonly place: bigint;
  readonly asset: DepositAsset;
  readonly amount: string;
  readonly status: DepositStatus;
  readonly reason: string | null;
  readonly rate_e8: bigint | null;
  /** Credits of its ledger entry, which may include small deposits too. */
  readonly credits: bigint | null;
  readonly returned_to: string | null;
  /**
   * True when blocks are read past the expiration of the earlier transaction; null without one. If it is not paid, it
   * is lost.
   */
  readonly is_lost: boolean | null;
  readonly is_paid: boolean;
}

const FIND = {
  name: 'find_deposit_to_return',
  text: `SELECT d.id, d.project_id, d.address, a.account, a.place, d.asset, d.amount::text, d.status, d.reason, d.rate_e8, d.credits,
      r.to_address AS returned_to, c.block_at > r.expires_at AS is_lost,
      ${RETURN_IS_PAID} AS is_paid
    FROM deposit d JOIN deposit_address a ON a.address = d.address LEFT JOIN deposit_return r ON r.deposit_id = d.id
    CROSS JOIN deposit_cursor c WHERE d.id = $1`,
};
/** A separate statement, before anything of the deposit is read: only later statements see concurrent changes. */
const LOCK = `SELECT FROM deposit WHERE id = $1 FOR UPDATE`;
const BEGIN = `INSERT INTO deposit_return (deposit_id, to_address, entry_key, txid, expires_at) VALUES ($1, $2, $3, $4, $5)`;
const AGAIN = `UPDATE deposit_return SET txid = $2, expires_at = $3 WHERE deposit_id = $1`;

/**
 * Finds a transaction without a recorded return that moved the same amount from the address to the same receiver: its
 * record may be lost. The fee that the token kept counts as part of the amount.
 */
const LEFT_UNRECORDED = {
  name: 'deposit_left_unrecorded',
  text: `SELECT encode(m.txid, 'hex') AS txid FROM deposit_movement m
    WHERE m.address = $1 AND m.asset = $2 AND m.amount < 0 AND m.kind <> 'fee' AND m.counterparty = $4
      AND m.amount + (SELECT coalesce(sum(f.amount), 0) FROM deposit_movement f
            WHERE f.txid = m.txid AND f.address = m.address AND f.asset = 'USDT' AND m.asset = f.asset AND f.kind = 'fee')
          = -($3::numeric)
      AND NOT EXISTS (SELECT FROM deposit_return r WHERE r.txid = m.txid) LIMIT 1`,
};

interface OutflowRow {
  readonly subject: string;
  readonly to_address: string;
  readonly txid: string;
  readonly kind: string;
  readonly place: number;
}

const EXPLAINED = {
  name: 'explained_outflows',
  text: `SELECT fingerprint FROM explained_finding WHERE fingerprint = ANY ($1::text[])`,
};

/**
 * Spreads equal returns in one block over a minute of timestamps, so that each gets its own transaction id. UNIQUE
 * (txid) decides collisions.
 */
const SALT_RANGE = 60_000n;

export interface ReturnedDeposit {
  readonly transfer: PlannedTransfer;
  /** Credits that this return took off the ledger, now or before. */
  readonly credits: Credits | undefined;
  /** True when the return was already booked and this is a further transaction for it. */
  readonly isAgain: boolean;
}

@Injectable()
export class DepositReturns {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly holdings: Holdings,
    private readonly trials: TransferTrials,
    private readonly transfers: DepositTransfers,
    private readonly tokens: DepositTokens,
  ) {}

  /**
   * Returns the cost of a return and the amount that arrives, without booking it. Throws OperatorError, StartError when
   * TOKEN_CONTRACT is not the token of the deposits, ChainUnavailableError.
   */
  async preview(id: bigint, to: string): Promise<PlannedTransfer> {
    await this.tokens.assertSetting();
    await this.assertNoOutflow();
    await this.assertForeign(to);
    const row = await find(this.database, id);
    assertReturnable(row, to);
    return (await this.prepare(row, to))(row, 0);
  }

  /**
   * Books a return and builds its unsigned transaction. Throws OperatorError, StartError when TOKEN_CONTRACT is not the
   * token of the deposits, ApiError INSUFFICIENT_CREDITS when the credits are spent, ChainUnavailableError.
   */
  async make(id: bigint, to: string, author: Author): Promise<ReturnedDeposit> {
    await this.tokens.assertSetting();
    await this.assertNoOutflow();
    await this.assertForeign(to);
    const found = await find(this.database, id);
    const { address } = found;
    const transferOf = await this.prepare(found, to);
    return this.database.transaction(async (tx) => {
      await tx.query(LOCK, [id]);
      const row = await find(tx, id);
      assertReturnable(row, to);
      const [left] = await tx.query<{ txid: string }>(LEFT_UNRECORDED, [address, row.asset, row.amount, to]);
      if (left !== undefined) {
        throw new OperatorError(
          `The transaction ${left.txid} moved the same amount from ${address} to ${to} and is not a recorded return: ` +
            'a failover may have lost its record. Deduct the credits with `credits adjust` instead.',
        );
      }
      const transfer = transferOf(row, Number(id % SALT_RANGE));
      const taken = { transfer, credits: creditsTakenFor(row) };
      const made = [Buffer.from(transfer.txid, 'hex'), transfer.expiresAt];
      const act = { subject: id.toString(), detail: { to, txid: transfer.txid, credits: taken.credits ?? null } };
      if (row.returned_to !== null) {
        await tx.query(AGAIN, [id, ...made]);
        await recordAct(tx, author, { ...act, action: 'deposits.return-again' });
        return { ...taken, isAgain: true };
      }
      // A deposit whose entry included small ones may itself be worth less than one credit. Then there is nothing to
      // enter.
      const hasEntry = taken.credits !== undefined && taken.credits > 0n;
      const entryKey = !hasEntry ? null : `adjustment:deposit-${id.toString()}-returned`;
      await recordAct(tx, author, { ...act, action: 'deposits.return' });
      await tx.query(BEGIN, [id, to, entryKey, ...made]);
      if (entryKey !== null && taken.credits !== undefined) {
        await this.ledger.withdrawDeposit(tx, { entryKey, projectId: row.project_id, credits: taken.credits, author });
      }
      return { ...taken, isAgain: false };
    });
  }

  /**
   * Reads and simulates the transfer before anything is locked. The returned function builds the transfer. It throws
   * OperatorError when the transfer would fail even if TRX were sent to the address first.
   */
  private async prepare(
    found: ReturnedRow,
    to: string,
  ): Promise<(row: ReturnedRow, saltMs: number) => PlannedTransfer> {
    const { address, asset } = found;
    const amount = BigInt(found.amount);
    const [prices, terms, receiver, { held }] = await Promise.all([
      this.trials.readPrices(),
      this.transfers.buildTerms(),
      this.trials.readReceiver(to),
      this.holdings.readOnChain([address]),
    ]);
    const funds = await this.trials.readFunds(address, prices);
    const holds = (asset === 'TRX' ? held.get(address)?.trxSun : held.get(address)?.token) ?? 0n;
    const trial = asset === 'TRX' ? undefined : await this.tryTransfer(address, to, amount);
    return (row, saltMs) => {
      if (asset === 'TRX' && receiver.isContract) throw new OperatorError(CONTRACT_RECEIVER);
      if (trial?.works === false && trial.cause !== 'balance') throw new OperatorError(FAILURES[trial.cause]);
      if (holds < amount || trial?.works === false) throw new OperatorError(holdsLess(address));
      const step = { receiver, prices, terms: { ...terms, timestampMs: terms.timestampMs + saltMs } };
      const place: DepositPlace = row;
      const planned =
        trial === undefined
          ? this.transfers.trxStep(place, funds, () => amount, step)
          : this.transfers.tokenStep(place, funds, { trial, need: trial, amount, isRented: false }, step);
      invariant(planned !== undefined, 'a deposit has an amount');
      return planned.transfer;
    };
  }

  private async tryTransfer(from: string, to: string, amount: bigint): Promise<TokenTrial> {
    const cause = await this.trials.obstacleTo(to);
    return cause === undefined ? this.trials.tryTokenTransfer(from, to, amount) : { works: false, cause };
  }

  /**
   * After a restore, an unexplained outflow may be a return whose record is lost. Another return would pay it twice.
   */
  private async assertNoOutflow(): Promise<void> {
    const rows = await this.database.query<OutflowRow>(UNEXPLAINED_OUTFLOWS);
    if (rows.length === 0) return;
    const named = rows.map((row) => ({
      ...row,
      fingerprint: fingerprintOf(
        DEPOSIT_OUTFLOWS,
        row.subject,
        OUTFLOW_IDENTITY.map((name) => row[name]),
      ),
    }));
    const explained = new Set(
      (
        await this.database.query<{ fingerprint: string }>(EXPLAINED, [named.map(({ fingerprint }) => fingerprint)])
      ).map(({ fingerprint }) => fingerprint),
    );
    const open = named.find(({ fingerprint }) => !explained.has(fingerprint));
    if (open === undefined) return;
    throw new OperatorError(
      `${open.txid} moved money from ${open.subject} to ${open.to_address} and is neither a recorded sweep nor a recorded return ` +
        '(`verify` lists it under deposit-outflows). A restore may have lost the record of a return. Find out its purpose, ' +
        `then run \`verify explain ${open.fingerprint} --reason …\`. Until then, no deposit can be returned.`,
    );
  }

  /**
   * Refuses our own addresses: transfers between them are credited to no project, and a transfer to itself is no
   * payment.
   */
  private async assertForeign(to: string): Promise<void> {
    if (!isAddress(to)) throw new OperatorError(`${to} is not a TRON address.`, 2);
    const [own] = await this.database.query(OWN_SENDERS, [[to]]);
    if (own !== undefined) {
      throw new OperatorError(`${to} is an address of this service. Return the deposit to an address of the payer.`);
    }
  }
}

const holdsLess = (address: string): string =>
  `${address} no longer holds that much. Send the missing amount there from a sweep address first.`;

async function find(tx: Queryable, id: bigint): Promise<ReturnedRow> {
  const [row] = await tx.query<ReturnedRow>(FIND, [id]);
  if (row === undefined) throw new OperatorError(`There is no deposit ${id.toString()}.`, 1, 'NOT_FOUND');
  return row;
}

/**
 * Returns the credits of the deposit alone: small deposits in its entry stay credited. Undefined if it was never
 * credited.
 */
function creditsTakenFor({ amount, rate_e8: rate, credits }: ReturnedRow): Credits | undefined {
  return credits === null || rate === null ? undefined : creditsFrom(creditsOfWorth(BigInt(amount) * rate));
}

function assertReturnable(row: ReturnedRow, to: string): void {
  const name = `Deposit ${row.id.toString()}`;
  if (row.status !== 'credited' && row.status !== 'ignored') {
    throw new OperatorError(`${name} is ${row.status}. Decide on it with \`deposits resolve\` first.`);
  }
  if (row.status === 'credited' && row.credits === null) {
    throw new OperatorError(`${name} was credited together with others in one entry, so it cannot be returned alone.`);
  }
  if (row.returned_to === null) return;
  if (row.returned_to !== to) throw new OperatorError(`${name} is already being returned to ${row.returned_to}.`);
  if (row.is_paid) throw new OperatorError(`${name} was returned; the transaction is on chain.`);
  if (row.is_lost !== true) {
    throw new OperatorError(
      `${name} has an unsigned transaction that may still be sent. Try again after it has expired.`,
    );
  }
}
