/** Ledger entries in API answers (docs/interface.md §29). */
import { rateText, trxOf } from '../../domain/conversion.js';
import type { DepositAsset } from '../../domain/deposit-state.js';
import { rateE8, toJsonInteger } from '../../domain/units.js';
import { PageQuery, timeParameter } from '../../platform/http/body/page-query.js';
import type { EntryRow } from './entry-rows.js';

/** Kinds of entries, each with a plain description. */
export const ENTRY_KINDS = {
  charge: 'Payment of an order or an extension.',
  refund: 'Return of the charge of an order that could not be fulfilled, except for an activation that is final.',
  compensation: 'Credits given for an order that was not delivered as sold.',
  deposit: 'Credits bought on chain.',
  topup: 'Paid credits that the operator added.',
  adjustment: 'Correction of the balance by the operator, or return of a deposit.',
} as const;
export type EntryKind = keyof typeof ENTRY_KINDS;

export class LedgerQuery extends PageQuery {
  @timeParameter('Only entries created at this time or later: a UTC day, or a UTC time ending in Z.')
  declare readonly from?: string;

  @timeParameter('Only entries created before this time.')
  declare readonly to?: string;
}

/** Members that do not apply are absent, never null. */
export interface EntryBody {
  readonly id: string;
  readonly kind: EntryKind;
  readonly description: string;
  readonly credits: number;
  readonly created_at: string;
  readonly order_key?: string;
  readonly deposit?: string;
  readonly asset?: DepositAsset;
  readonly amount?: string;
  readonly usd_rate?: string;
  readonly txids?: readonly string[];
  readonly reference?: string;
}

export function entryBody(row: EntryRow): EntryBody {
  const { order_key: orderKey, amount, txids } = row;
  const deposit = row.deposit_id ?? row.returned_id;
  const rate = row.rate_e8 ?? row.trx_usd_e8;
  const reference = referenceOf(row);
  return {
    id: `ent_${row.id.toString()}`,
    kind: kindOf(row),
    description: descriptionOf(row),
    credits: toJsonInteger(row.credits),
    created_at: new Date(row.at).toISOString(),
    ...(orderKey !== null && { order_key: orderKey }),
    ...(deposit !== null && { deposit: depositName(deposit) }),
    ...(rate !== null && { asset: row.asset ?? 'TRX', usd_rate: rateText(rateE8(rate)) }),
    ...(amount !== null && { amount: trxOf(BigInt(amount)) }),
    ...(txids !== null && { txids }),
    ...(reference !== undefined && { reference }),
  };
}

function kindOf({ kind, deposit_id: depositId }: EntryRow): EntryKind {
  return depositId === null ? kind : 'deposit';
}

/** Returns the reference that the operator booked the entry under; undefined for deposits and their returns. */
function referenceOf({ kind, entry_key: key, deposit_id: deposit, returned_id: returned }: EntryRow) {
  const isBooked = (kind === 'topup' && deposit === null) || (kind === 'adjustment' && returned === null);
  return isBooked ? key.slice(kind.length + 1) : undefined;
}

function descriptionOf(row: EntryRow): string {
  const { kind, deposit_id: deposit, returned_id: returned, asset, amount } = row;
  switch (kind) {
    case 'charge':
      return capitalised(soldBy(row));
    case 'refund':
      return `Refund${row.keeps_activation ? ', except for the activation,' : ''} of the ${soldBy(row)}`;
    case 'compensation':
      return `Compensation for the ${soldBy(row)}`;
    case 'topup':
      return deposit === null ? 'Top-up' : `Deposit of ${trxOf(BigInt(amount ?? '0'))} ${asset ?? ''}`;
    case 'adjustment':
      return returned === null ? 'Adjustment' : `Deposit ${depositName(returned)} given back`;
  }
}

function soldBy(row: EntryRow): string {
  const { order_kind: kind, energy, bandwidth, duration_sec: duration, receive_address: receiver } = row;
  if (kind === 'activation') return `activation of ${receiver ?? ''}`;
  const parts = `${energy?.toString() ?? ''} energy${bandwidth === null ? '' : ` and ${bandwidth.toString()} bandwidth`}`;
  const activation = row.has_activation && !row.is_extension ? ', with activation,' : '';
  return `${row.is_extension ? 'extension' : 'rental'} of ${parts} for ${duration?.toString() ?? ''} s${activation} to ${receiver ?? ''}`;
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const depositName = (id: bigint): string => `dep_${id.toString()}`;
