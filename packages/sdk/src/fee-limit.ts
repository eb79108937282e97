// The fee limit of the transaction that spends rented energy.

/** An answer with a fee limit: a quote, an order, a simulation, or an auto-delegation that was set or read. */
export interface WithFeeLimit {
  readonly fee_limit_sun?: number | undefined;
  /** Extensions have the fee limit by the energy price of their own time. */
  readonly extensions?: readonly { readonly fee_limit_sun?: number | undefined }[] | undefined;
}

/** The option of tronweb's `send` and `triggerSmartContract`. */
export interface FeeLimitOption {
  /** In sun. */
  readonly feeLimit: number;
}

/**
 * Returns tronweb's `feeLimit` option for a transaction that spends the energy: the highest fee limit of the answer and
 * its extensions. Without it, tronweb's own default may stop the call although rented energy is left.
 *
 * Throws TypeError for an answer without a fee limit, such as an activation or a simulated call that would fail.
 */
export function feeLimitOf(answer: WithFeeLimit): FeeLimitOption {
  const limits = [answer, ...(answer.extensions ?? [])].flatMap(({ fee_limit_sun: limit }) => limit ?? []);
  if (limits.length === 0) throw new TypeError('this answer has no fee_limit_sun');
  return { feeLimit: Math.max(...limits) };
}
