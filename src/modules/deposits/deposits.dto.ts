/** Deposits as API answers and events show them (docs/interface.md §28). */
import { rateText, trxOf } from '../../domain/conversion.js';
import { DEPOSIT_TRANSITIONS, type DepositAsset, type DepositStatus } from '../../domain/deposit-state.js';
import { rateE8, toJsonInteger } from '../../domain/units.js';
import type { Deposit } from '../../platform/database/entities/deposit.entity.js';
import { OneOf } from '../../platform/http/body/member-rules.js';
import { PageQuery } from '../../platform/http/body/page-query.js';

export const DEPOSIT_STATUSES = Object.keys(DEPOSIT_TRANSITIONS) as readonly DepositStatus[];

export class DepositListQuery extends PageQuery {
  @OneOf(DEPOSIT_STATUSES, 'Only deposits in this status.')
  declare readonly status?: DepositStatus;
}

/** An asset that a deposit address accepts. */
export interface AcceptedAsset {
  readonly asset: DepositAsset;
  /** The token's contract; absent for TRX. */
  readonly contract?: string;
  /** Smaller payments wait until their sum reaches it. */
  readonly minimum: string;
  /** TRX only: true while TRX sent by contracts is seen too. */
  readonly from_contracts?: boolean;
}

export interface DepositAddressBody {
  readonly address: string;
  readonly network: string;
  readonly accepts: readonly AcceptedAsset[];
}

/** A deposit as the database renders it to JSON: amounts are strings. */
export interface DepositJson {
  readonly id: string;
  readonly txid: string;
  readonly kind: 'native' | 'log' | 'internal';
  readonly place: number;
  readonly address: string;
  readonly from_address: string;
  readonly asset: DepositAsset;
  readonly amount: string;
  readonly status: DepositStatus;
  readonly reason: string | null;
  readonly rate_e8: string | null;
  readonly credits: string | null;
  readonly block_number: string;
  readonly block_at: string;
}

/** Members that do not apply are absent, never null. */
export interface DepositBody {
  readonly id: string;
  readonly txid: string;
  readonly kind: 'native' | 'log' | 'internal';
  readonly position: number;
  readonly asset: DepositAsset;
  readonly amount: string;
  readonly address: string;
  readonly from_address: string;
  readonly status: DepositStatus;
  readonly reason?: string;
  readonly usd_rate?: string;
  readonly credits?: number;
  readonly block_number: number;
  readonly block_timestamp: string;
}

export function depositBody(deposit: DepositJson): DepositBody {
  const { reason, rate_e8: rate, credits } = deposit;
  return {
    id: `dep_${deposit.id}`,
    txid: deposit.txid,
    kind: deposit.kind,
    position: deposit.place,
    asset: deposit.asset,
    amount: trxOf(BigInt(deposit.amount)),
    address: deposit.address,
    from_address: deposit.from_address,
    status: deposit.status,
    ...(reason !== null && { reason }),
    ...(rate !== null && { usd_rate: rateText(rateE8(rate)) }),
    ...(credits !== null && { credits: toJsonInteger(BigInt(credits)) }),
    block_number: toJsonInteger(BigInt(deposit.block_number)),
    block_timestamp: new Date(deposit.block_at).toISOString(),
  };
}

/** Converts a row to the shape that events use. */
export function depositJsonOf(row: Deposit): DepositJson {
  return {
    id: row.id.toString(),
    txid: row.txid.toString('hex'),
    kind: row.kind,
    place: row.place,
    address: row.address,
    from_address: row.fromAddress,
    asset: row.asset,
    amount: row.amount,
    status: row.status,
    reason: row.reason,
    rate_e8: row.rateE8?.toString() ?? null,
    credits: row.credits?.toString() ?? null,
    block_number: row.blockNumber.toString(),
    block_at: row.blockAt.toISOString(),
  };
}
