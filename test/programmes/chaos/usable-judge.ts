// The usable energy that all rentals of one receiver promise together. Pure; computed from orders and receipts alone,
// so that it shares no code with the service.

/** A delivered rental. Times are block times, in ms. */
export interface Rental {
  readonly key: string;
  readonly energy: number;
  readonly deliveredAtMs: number;
  readonly endsAtMs: number;
  /** True if its end took usage along; false if the service could read no usage before the reclaim. */
  readonly takesUsage: boolean;
}

/** Rented energy that a transaction of the receiver used. */
export interface Use {
  readonly atMs: number;
  readonly energy: number;
}

/**
 * Returns the energy that the receiver must be able to use at `atMs`: the sum of the running rentals, minus the energy
 * used while they ran. Usage counts first against the rental that ends, up to its sold energy. Recovery of used energy
 * is ignored, since it only adds usable energy.
 */
export function expectedUsable(rentals: readonly Rental[], uses: readonly Use[], atMs: number): number {
  const known = rentals.filter(({ deliveredAtMs }) => deliveredAtMs <= atMs);
  const ended = known.filter(({ endsAtMs }) => endsAtMs <= atMs).sort((a, b) => a.endsAtMs - b.endsAtMs);
  let [used, fromMs] = [0, 0];
  const addUses = (untilMs: number): void => {
    for (const use of uses) if (use.atMs > fromMs && use.atMs <= untilMs) used += use.energy;
    fromMs = untilMs;
  };
  for (const { endsAtMs, energy, takesUsage } of ended) {
    addUses(endsAtMs);
    if (takesUsage) used -= Math.min(used, energy);
  }
  addUses(atMs);
  const sold = known.reduce((sum, { endsAtMs, energy }) => (endsAtMs > atMs ? sum + energy : sum), 0);
  return sold - used;
}
