/**
 * Maps internal transfers to their recorded positions. Earlier versions counted every entry of a receipt, not only
 * those that move value, so old rows keep different positions for ever.
 */
import type { Payment } from '../../platform/blocks/agreed-payments.js';
import type { Transaction } from '../../platform/database/database.js';
import { INTERNAL_ROWS, type InternalRow } from './deposit-sql.js';

type Named = Pick<Payment, 'txid' | 'from' | 'to' | 'amount'>;

const nameOf = ({ txid, from, to, amount }: Named): string => [txid, from, to, amount].join(' ');
const placeOf = (txid: string, place: number): string => `${txid} ${place.toString()}`;

/** Returns the same payments. A payment with a recorded row takes that row's place; no other payment takes it. */
export async function atRecordedPlaces(tx: Transaction, payments: readonly Payment[]): Promise<readonly Payment[]> {
  const internal = payments.filter(({ kind }) => kind === 'internal');
  if (internal.length === 0) return payments;
  const txids = [...new Set(internal.map(({ txid }) => txid))];
  const rows = await tx.query<InternalRow>(INTERNAL_ROWS, [txids.map((txid) => Buffer.from(txid, 'hex'))]);
  if (rows.length === 0) return payments;
  const taken = new Set(rows.map(({ txid, place }) => placeOf(txid, place)));
  const places = new Map<string, Set<number>>();
  for (const { txid, place, from_address: from, to_address: to, amount } of rows) {
    const name = nameOf({ txid, from, to, amount: BigInt(amount) });
    places.set(name, (places.get(name) ?? new Set()).add(place));
  }
  // Equal payments have one row each. Those already at their recorded place are matched first.
  const still = new Set(internal.filter((each) => places.get(nameOf(each))?.delete(each.position) === true));
  return payments.map((payment) => {
    if (payment.kind !== 'internal' || still.has(payment)) return payment;
    const left = places.get(nameOf(payment));
    const [recorded] = left ?? [];
    if (recorded !== undefined) {
      left?.delete(recorded);
      return { ...payment, position: recorded };
    }
    let { position } = payment;
    while (taken.has(placeOf(payment.txid, position))) position += 1;
    taken.add(placeOf(payment.txid, position));
    return { ...payment, position };
  });
}
