/** Deposits as they are answered and shown by events (docs/interface.md §28). */
import { decimal, rateText } from '../domain/conversion.js';
import type { DepositAsset, DepositStatus } from '../domain/deposit-state.js';
import { rateE8, toJsonInteger } from '../domain/units.js';

/** A deposit as the database writes it as JSON: amounts are texts. */
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

/** What does not apply is absent, never null. */
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

const ASSET_DIGITS = 6;

export function depositBody(deposit: DepositJson): DepositBody {
  const { reason, rate_e8: rate, credits } = deposit;
  return {
    id: `dep_${deposit.id}`,
    txid: deposit.txid,
    kind: deposit.kind,
    position: deposit.place,
    asset: deposit.asset,
    amount: decimal(BigInt(deposit.amount), ASSET_DIGITS),
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
