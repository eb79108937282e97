// Preloaded into one process of a chaos run: shifts its wall clock by CHAOS_CLOCK_SHIFT_MS. Monotonic clocks and timers
// stay correct, as after a jump of the machine's clock.
const shiftMs = Number(process.env.CHAOS_CLOCK_SHIFT_MS ?? '0');
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + shiftMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + shiftMs;
  }
};
