/** Merges the payments of one block as several nodes report them. */
import type { Transfer } from '../chain/transfers.js';

export interface ReportedPayment extends Transfer {
  readonly txid: string;
}

export interface Payment extends ReportedPayment {
  /** Reported alike by two nodes, or by the only one. Internal transactions are reported only by nodes that keep them. */
  readonly isAgreed: boolean;
}

/** Returns a text that is equal for equal payments. */
export function paymentKey({ txid, kind, position, contract, from, to, amount }: ReportedPayment): string {
  return [txid, kind, position, contract ?? '', from, to, amount].join(' ');
}

/**
 * Returns one payment for each place in a transaction, in the order of the reports. It is agreed if at least `needed` nodes
 * report it, and more nodes than any other payment in its place. Where none is agreed, the operator decides on the smallest.
 */
export function agreedPayments(reports: readonly (readonly ReportedPayment[])[], needed: number): Payment[] {
  const places = new Map<string, Map<string, { readonly payment: ReportedPayment; voices: number }>>();
  for (const payment of reports.flat()) {
    const place = `${payment.txid} ${payment.kind} ${payment.position.toString()}`;
    const versions = places.get(place) ?? new Map<string, { readonly payment: ReportedPayment; voices: number }>();
    const version = versions.get(paymentKey(payment)) ?? { payment, voices: 0 };
    version.voices += 1;
    places.set(place, versions.set(paymentKey(payment), version));
  }
  return [...places.values()].map((versions) => {
    const [most, next] = [...versions.values()].sort((a, b) => b.voices - a.voices);
    if (most !== undefined && most.voices >= needed && most.voices > (next?.voices ?? 0)) {
      return { ...most.payment, isAgreed: true };
    }
    const payments = [...versions.values()].map(({ payment }) => payment);
    const smallest = payments.reduce((least, each) => (each.amount < least.amount ? each : least));
    return { ...smallest, isAgreed: false };
  });
}
