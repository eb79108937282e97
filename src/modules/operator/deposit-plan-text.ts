/** Formats planned transfers from deposit addresses: the steps before each is sent, and the bytes to sign. */
import { grouped } from '../../domain/text.js';
import type { PlannedTransfer } from '../deposits/deposit-transfers.js';
import type { SweepPlan } from '../deposits/sweep-draft.js';
import { trxOf } from '../../domain/conversion.js';
import { ForeignJson } from './cli-context.js';
import { table } from './format.js';

/** `transaction` is unchanged, as signing tools expect it. */
export function transferJson(transfer: PlannedTransfer): object {
  const { path, from, to, asset, amount, arrives, energy, bandwidth, txid } = transfer;
  return {
    ...{ path, from, to, asset, amount, arrives },
    token_fee: transfer.tokenFee,
    needs_activation: transfer.needsActivation,
    creates_receiver: transfer.createsReceiver,
    energy,
    rent_energy: transfer.rentEnergy,
    fee_limit_sun: transfer.feeLimitSun,
    bandwidth,
    burns_sun: transfer.burnsSun,
    missing_sun: transfer.missingSun,
    must_confirm: transfer.mustConfirm,
    expires_at: transfer.expiresAt,
    txid,
    raw_data_hex: transfer.rawDataHex,
    transaction: new ForeignJson(transfer.transaction),
  };
}

export function sweepJson({ transactions, leftOut }: SweepPlan): object {
  return { transactions: transactions.map(transferJson), left_out: leftOut };
}

export function sweepText({ transactions, leftOut }: SweepPlan): string {
  if (transactions.length + leftOut.length === 0) return 'No balance is worth a transaction.';
  return [...(transactions.length === 0 ? [] : [stepsText(transactions)]), ...leftOutText(leftOut)].join('\n\n');
}

/** Returns the text about the amount that the receiver of a return gets. */
export function arrivalText({ to, asset, amount, arrives, tokenFee }: PlannedTransfer): string {
  const whole = `${trxOf(arrives)} ${asset} arrive at ${to}`;
  if (tokenFee === 0n) return `${whole}.`;
  return `${whole}: the token deducts a fee of ${trxOf(tokenFee)} from ${trxOf(amount)}, which the recipient bears.`;
}

export function returnText(transfer: PlannedTransfer): string {
  return `${arrivalText(transfer)}\n${stepsText([transfer])}`;
}

function stepsText(transactions: readonly PlannedTransfer[]): string {
  const [first] = transactions;
  const until = first === undefined ? '' : ` before ${first.expiresAt.toISOString()}`;
  const steps = [
    ...rowsOf('Activate these addresses', transactions, ({ from, needsActivation }) => needsActivation && [from]),
    ...rowsOf('Send TRX to these addresses', transactions, ({ from, missingSun }) =>
      missingSun > 0n ? [from, `${trxOf(missingSun)} TRX`] : false,
    ),
    ...rowsOf('Rent energy for these addresses; it is used when the transactions are sent', transactions, (each) =>
      each.rentEnergy > 0n ? [each.from, `${grouped(each.rentEnergy)} energy`] : false,
    ),
    `Sign and send these transactions${until}, in this order. After a step marked "wait", send the next one when the transaction is in a block.`,
  ];
  return [...steps.map((step, index) => `${(index + 1).toString()}. ${step}`), transferTable(transactions)].join('\n');
}

function rowsOf(
  title: string,
  transactions: readonly PlannedTransfer[],
  rowOf: (transfer: PlannedTransfer) => readonly string[] | false,
): string[] {
  const rows = transactions.flatMap((transfer) => {
    const row = rowOf(transfer);
    return row === false ? [] : [`   ${row.join('  ')}`];
  });
  return rows.length === 0 ? [] : [[`${title}:`, ...rows].join('\n')];
}

const HEAD = ['then', 'key', 'from', 'to', 'asset', 'amount', 'arrives', 'energy', 'fee limit', 'burns', 'txid'];

function transferTable(transactions: readonly PlannedTransfer[]): string {
  const rows = transactions.map((each) => [
    each.mustConfirm ? 'wait' : '',
    each.path,
    each.from,
    each.to,
    each.asset,
    trxOf(each.amount),
    trxOf(each.arrives),
    grouped(each.energy),
    each.feeLimitSun === null ? '' : trxOf(each.feeLimitSun),
    trxOf(each.burnsSun),
    each.txid,
  ]);
  const bytes = transactions.map(({ txid, rawDataHex }) => [txid, rawDataHex]);
  return [table(HEAD, rows, ''), table(['txid', 'bytes to sign'], bytes, '')].join('\n\n');
}

function leftOutText(leftOut: SweepPlan['leftOut']): string[] {
  if (leftOut.length === 0) return [];
  const rows = leftOut.map(({ from, asset, amount, says }) => [from, asset, trxOf(amount), says]);
  return [`Left out because they would fail:\n${table(['from', 'asset', 'amount', 'why'], rows, '')}`];
}
