/** Reads a project's balance and its duration, and words its deposits. Reads only. */
import { Injectable } from '@nestjs/common';
import { nowMs } from '../../platform/support/clock.js';
import type { DepositStatus } from '../../domain/deposit-state.js';
import { ApiError } from '../../domain/errors.js';
import { DepositAddresses } from '../deposits/deposit-addresses.js';
import {
  withReturns,
  type ListedDeposit,
  type ReturnScope,
  type ReturnState,
} from '../deposits/deposit-return-states.js';
import { depositBody, depositJsonOf } from '../deposits/deposits.dto.js';
import { DepositTerms } from '../deposits/deposit-terms.js';
import { EventLog } from '../events/event-log.js';
import { Database } from '../../platform/database/database.js';
import { SPENT_TODAY } from '../../platform/database/spent-today.js';
import { Deposit } from '../../platform/database/entities/deposit.entity.js';
import type { Reader } from '../../platform/database/replica.js';
import { money, withoutNull } from './answers.js';
import type { Arrivals, BalanceShape, DepositAddressShape, DepositShape } from './data-shapes.js';
import { STRETCH, type Stretch } from './lists.js';
import type { OperatorDeposit } from './operator-shapes.js';

const DAYS = 7;
/** Limits the newest entries of seven days; they suffice to estimate the rate. */
const ENTRIES_MAX = 20_000;
const EVENTS_SHOWN = 50;

/** Start for a younger project: its first entry, but at least an hour ago, because a shorter time gives no rate. */
const FIRST_ENTRY = `(SELECT least(first.created_at, clock_timestamp() - interval '1 hour') FROM credit_entry first
  WHERE first.project_id = $1 ORDER BY first.created_at, first.id LIMIT 1)`;

/**
 * Spending of the last days, from the newest entries. If there are more than the limit, it starts at the oldest of
 * those read.
 */
const BALANCE = {
  name: 'console_balance',
  text: `SELECT a.balance_credits, a.floor_credits, a.is_postpaid, a.frozen, a.low_balance_credits, a.daily_cap_credits,
      ${SPENT_TODAY} AS spent_today,
      p.spent AS spent, extract(epoch FROM clock_timestamp() - p.since)::bigint AS spent_sec
    FROM credit_account a, LATERAL (
      SELECT coalesce(-sum(credits), 0)::bigint AS spent,
             CASE WHEN count(*) < $3 THEN greatest(clock_timestamp() - $2 * interval '1 day', ${FIRST_ENTRY}) ELSE min(created_at) END AS since
        FROM (SELECT CASE WHEN kind IN ('charge', 'refund') THEN credits ELSE 0 END AS credits, created_at FROM credit_entry
               WHERE project_id = $1 AND created_at > (SELECT clock_timestamp() - $2 * interval '1 day')
               ORDER BY created_at DESC LIMIT $3) newest) p
   WHERE a.project_id = $1`,
};

interface BalanceRow {
  readonly balance_credits: bigint;
  readonly floor_credits: bigint | null;
  readonly is_postpaid: boolean;
  readonly frozen: boolean;
  readonly low_balance_credits: bigint | null;
  readonly daily_cap_credits: bigint | null;
  readonly spent_today: bigint;
  readonly spent: bigint;
  readonly spent_sec: bigint;
}

const DAY_SEC = 86_400n;

/** Meaning of each status, with the next step. */
const MEANS: Readonly<Record<DepositStatus, string>> = {
  pending: 'Seen on chain. It is credited when its block is final and a rate is available, usually within two minutes.',
  credited: 'Added to your balance.',
  held: 'Held: your operator checks it before it is credited.',
  ignored: 'Not credited: this kind of payment is not accepted here.',
  dropped: 'Its block was reverted: the payment did not happen.',
};

/** Replaces the status text of a credited deposit that is returned. */
const TAKEN_OFF = 'Its credits were deducted from your balance again.';
const RETURNS: Readonly<Record<ReturnState, string>> = {
  'being given back': 'It is being returned to the sender; the transaction is not on chain yet.',
  'given back': 'It was returned to the sender; the transaction is on chain.',
};

/** Texts of recorded reasons; a reason that an operator wrote is shown unchanged. */
const BECAUSE: Readonly<Record<string, string>> = {
  not_solid: 'Its block is not final yet.',
  no_rate: 'No current rate of the asset is available. It is credited when there is one.',
  below_peg: 'USDT is below 0.99 dollars. It is credited when the price recovers.',
  below_minimum: 'It is below the minimum. It is credited together with later deposits of the same asset.',
  rate_jump: 'The rate differs by more than a tenth from the median of the day.',
  one_node: 'Only one node has reported it so far.',
  amount: 'It is above the limit for automatic crediting.',
  blacklisted: 'The token has blacklisted its deposit address. It is credited when the address can send again.',
  paid_by_us: 'A deposit address has paid its sender before, so the operator checks whose money it is.',
  destroyed: 'The issuer of the token destroyed the balance of its deposit address.',
  auto_max: 'It is above the limit for crediting on the report of one node.',
};

@Injectable()
export class TopUp {
  constructor(
    private readonly database: Database,
    private readonly addresses: DepositAddresses,
    private readonly terms: DepositTerms,
    private readonly eventLog: EventLog,
  ) {}

  async balance(projectId: string): Promise<BalanceShape> {
    const [row] = await this.database.query<BalanceRow>(BALANCE, [projectId, DAYS, ENTRIES_MAX]);
    if (row === undefined) throw new ApiError('NOT_FOUND', 'No project has this id.');
    const {
      balance_credits: balance,
      floor_credits: floor,
      spent,
      low_balance_credits: low,
      daily_cap_credits: cap,
    } = row;
    const available = floor === null ? undefined : balance > floor ? balance - floor : 0n;
    const perDay = row.spent_sec > 0n && spent > 0n ? (spent * DAY_SEC) / row.spent_sec : 0n;
    return withoutNull<BalanceShape>({
      balance: money(balance),
      available: available === undefined ? undefined : money(available),
      is_postpaid: row.is_postpaid,
      frozen: row.frozen,
      low_balance: low === null ? undefined : money(low),
      daily_cap: cap === null ? undefined : money(cap),
      spent_today: money(row.spent_today),
      spent_per_day: money(perDay),
      days_left: available === undefined || perDay === 0n ? undefined : tenths((available * 10n) / perDay),
    });
  }

  /** Returns the address, derived again from the account's key. Throws 404 if deposits are not in use. */
  async address(projectId: string): Promise<DepositAddressShape> {
    const address = await this.addresses.addressOf(projectId);
    if (address === undefined) throw new ApiError('NOT_FOUND', 'Deposits are not available here. Ask the operator.');
    const accepts = await this.terms.accepted();
    return { address, network: 'TRON (TRC20)', accepts, checked_at: new Date(nowMs()).toISOString() };
  }

  /** Returns events since a position of the project's log, with the present balance. */
  async arrivals(projectId: string, after: bigint | undefined): Promise<Arrivals> {
    const [account] = await this.database.query<{ balance_credits: bigint }>(
      'SELECT balance_credits FROM credit_account WHERE project_id = $1',
      [projectId],
    );
    const balance = money(account?.balance_credits ?? 0n);
    if (after === undefined)
      return { position: Number(await this.eventLog.readLastPosition(projectId)), events: [], balance };
    const page = await this.eventLog.read(projectId, after, undefined, EVENTS_SHOWN);
    // Pruned events are skipped.
    if (!('items' in page)) return { position: Number(page.oldestPosition) - 1, events: [], balance };
    const events = page.items.map(({ payload, position }) => {
      const { type, timestamp } = JSON.parse(payload) as { type: string; timestamp: string };
      return { type, position: Number(position), timestamp };
    });
    return { position: Number(page.lastPosition), events, balance };
  }
}

interface DepositFilter {
  readonly projectId?: string | undefined;
  readonly status?: DepositStatus | undefined;
}

/** `projectId` undefined reads all projects, for operators. */
export async function depositsBefore(
  on: Reader,
  { scope, ...filter }: DepositFilter & { readonly scope: ReturnScope },
  before: bigint,
  limit: number,
): Promise<Stretch<ListedDeposit>> {
  const { rows, endedAt } = await stretchBefore(on, filter, before, limit);
  return { rows: await withReturns(on, scope, rows), endedAt };
}

async function stretchBefore(
  on: Reader,
  { projectId, status }: DepositFilter,
  before: bigint,
  limit: number,
): Promise<Stretch<Deposit>> {
  const newest = on.repository(Deposit).createQueryBuilder('d').where('d.id < :before', { before: before.toString() });
  // As in `ownedBy`: the order names the project so that no other index than that of the project fits.
  if (projectId !== undefined) {
    newest.andWhere('d.project_id = ANY (ARRAY[:projectId::uuid])', { projectId }).orderBy('d.projectId', 'DESC');
  }
  newest.addOrderBy('d.id', 'DESC');
  if (status === undefined) return { rows: await newest.take(limit + 1).getMany(), endedAt: undefined };
  const [end] = await newest
    .clone()
    .select('d.id')
    .skip(STRETCH - 1)
    .take(1)
    .getMany();
  if (end !== undefined) newest.andWhere('d.id >= :end', { end: end.id.toString() });
  const rows = await newest
    .andWhere('d.status = :status', { status })
    .take(limit + 1)
    .getMany();
  return { rows, endedAt: end?.id };
}

const tenths = (value: bigint): number => Number(value) / 10;

export function depositShape(deposit: ListedDeposit): DepositShape {
  const { credits: _, ...body } = depositBody(depositJsonOf(deposit));
  const { returnState } = deposit;
  const means = returnState !== null && deposit.status === 'credited' ? TAKEN_OFF : MEANS[deposit.status];
  const because = deposit.reason === null ? undefined : (BECAUSE[deposit.reason] ?? deposit.reason);
  return withoutNull<DepositShape>({
    ...body,
    reason: deposit.reason,
    says: [means, because, returnState === null ? undefined : RETURNS[returnState]]
      .filter((text) => text !== undefined)
      .join(' '),
    usd_rate: body.usd_rate,
    credited: deposit.credits === null ? undefined : money(deposit.credits),
    seen_at: deposit.seenAt.toISOString(),
    changed_at: deposit.changedAt.toISOString(),
  });
}

/** `projectName`: the name of the deposit's project. */
export function operatorDeposit(deposit: ListedDeposit, projectName: string): OperatorDeposit {
  const { contract, projectId } = deposit;
  return {
    ...depositShape(deposit),
    project: { id: projectId, name: projectName },
    ...(contract !== null && { contract }),
  };
}
