// A rental's sold energy stays usable when other rentals of its receiver end. Our rule is compared with the chain's
// arithmetic, for any rentals, usage, own stake and foreign delegations, at any times.
import fc from 'fast-check';
import type { Usage } from '../../../packages/devnet/src/accounts.js';
import { increase, spend } from '../../../packages/devnet/src/resources.js';
import type {
  ReceiverDelivery,
  ReclaimReading,
  RunningRental,
} from '../../../src/modules/fulfilment/loop/claimed-order.js';
import {
  carrierOf,
  compensationFor,
  leftoverOf,
  lostEnergyOf,
  unrecovered,
} from '../../../src/modules/fulfilment/plan/usage-losses.js';
import { sun } from '../../../src/domain/units.js';

/** Ten energy for each TRX. */
const RATIO = { totalEnergyLimit: 180_000_000_000n, totalEnergyWeight: 18_000_000_000n };
const SUN_PER_ENERGY = 100_000n;
const BLOCK_MS = 3_000;

interface Rental {
  readonly id: bigint;
  readonly sold: bigint;
  readonly endsAtSlot: bigint;
  /** The energy of each of its delegations, top-ups included. */
  readonly legs: bigint[];
}

/** One receiver on the chain, and the worker's records of it. */
class Receiver {
  slot = 1_000_000n;
  private usage: Usage = { used: 0n, slot: 0n, window: 0n };
  private rentals: Rental[] = [];
  private readonly reclaims: ReclaimReading[] = [];
  private readonly deliveries: ReceiverDelivery[] = [];
  /** Energy used while rentals ran, less the part charged to ended ones. */
  private counted = 0n;
  private made = 0n;

  /** `own` is energy from the receiver's stake, `foreign` from delegations of others. */
  constructor(
    private readonly own: bigint,
    private foreign: bigint,
  ) {}

  private get limit(): bigint {
    return this.own + this.foreign + this.pool;
  }

  private get pool(): bigint {
    return this.rentals.reduce((sum, { legs }) => sum + legs.reduce((a, b) => a + b, 0n), 0n);
  }

  get usable(): bigint {
    const left = this.limit - increase(this.usage, 0n, this.slot).used;
    return left > 0n ? left : 0n;
  }

  /** The sold energy of running rentals, less the energy used while they ran. */
  get owed(): bigint {
    const owed = this.rentals.reduce((sum, { sold }) => sum + sold, 0n) - this.counted;
    return owed > 0n ? owed : 0n;
  }

  rent(sold: bigint, slots: bigint): void {
    this.made += 1n;
    this.rentals.push({ id: this.made, sold, endsAtSlot: this.slot + slots, legs: [sold] });
    this.deliveries.push({ block: Number(this.slot), energy: sold });
  }

  use(percent: bigint): void {
    const amount = (this.usable * percent) / 100n;
    if (amount === 0n) return;
    this.usage = spend(this.usage, amount, this.slot);
    if (this.rentals.length > 0) this.counted += amount;
  }

  /** TRON: UnDelegateResourceActuator. */
  private undelegate(energy: bigint): bigint {
    const now = increase(this.usage, 0n, this.slot);
    const share = BigInt(Math.trunc(Number(now.used) * (Number(energy) / Number(this.limit))));
    const moved = share < energy ? share : energy;
    this.usage = { ...now, used: now.used - moved, slot: this.slot };
    return moved;
  }

  /** Usage that a foreign undelegation leaves behind counts as the receiver's own. */
  foreignEnds(): void {
    const { used } = increase(this.usage, 0n, this.slot);
    const whole = used < this.foreign ? used : this.foreign;
    if (this.foreign > 0n) this.counted += whole - this.undelegate(this.foreign);
    this.foreign = 0n;
  }

  /**
   * Ends all due rentals together as the worker does: one reading, then one reclaim after the other. `meanwhile` is
   * delivered between the reading and the reclaims.
   */
  pass(slots: bigint, meanwhile = 0n): void {
    this.slot += slots;
    const ending = this.rentals.filter(({ endsAtSlot }) => endsAtSlot <= this.slot);
    const reading = {
      used: increase(this.usage, 0n, this.slot).used,
      limit: this.limit,
      pool: this.pool,
      readBlock: Number(this.slot),
    };
    this.slot += 1n;
    if (meanwhile > 0n) this.rent(meanwhile, 1_000n);
    for (const rental of ending) {
      const all = rental.legs.reduce((a, b) => a + b, 0n);
      for (const energy of [...rental.legs]) {
        const block = Number(this.slot);
        const part = (rental.sold * energy + all - 1n) / all;
        this.undelegate(energy);
        rental.legs.shift();
        this.reclaims.push({
          ...reading,
          ...{ txId: BigInt(this.reclaims.length), sold: part, taken: energy, block, blockAtMs: this.nowMs },
        });
      }
      this.rentals = this.rentals.filter(({ id }) => id !== rental.id);
      this.counted = this.counted > rental.sold ? this.counted - rental.sold : 0n;
    }
    if (ending.length > 0) this.topUp();
  }

  private get nowMs(): number {
    return Number(this.slot) * BLOCK_MS;
  }

  private topUp(): void {
    const rentals = this.rentals.map(({ id, sold, endsAtSlot, legs }): RunningRental => ({
      id,
      energy: sold,
      endsAtMs: Number(endsAtSlot) * BLOCK_MS,
      standingSun: sun(legs.reduce((a, b) => a + b, 0n) * SUN_PER_ENERGY),
      canBeToppedUp: true,
    }));
    const carrier = [...this.rentals].sort((a, b) => Number(b.endsAtSlot - a.endsAtSlot) || Number(b.id - a.id))[0];
    if (carrier === undefined) return;
    const usage = { reclaims: this.reclaims, deliveries: this.deliveries, rentals, newestTopUp: undefined };
    const lost = lostEnergyOf(carrier.id, usage, RATIO, this.nowMs);
    const standing = carrier.legs.reduce((a, b) => a + b, 0n);
    const missing = carrier.sold + lost - standing;
    if (missing <= 0n) return;
    carrier.legs.push(missing);
    this.deliveries.push({ block: Number(this.slot), energy: missing });
  }
}

const amount = fc.bigInt({ min: 12_841n, max: 2_000_000n });
const step = fc.oneof(
  fc.record({ does: fc.constant('rent' as const), energy: amount, slots: fc.bigInt({ min: 20n, max: 60_000n }) }),
  fc.record({ does: fc.constant('use' as const), percent: fc.bigInt({ min: 1n, max: 100n }) }),
  fc.record({
    does: fc.constant('wait' as const),
    slots: fc.bigInt({ min: 1n, max: 20_000n }),
    meanwhile: fc.oneof(fc.constant(0n), amount),
  }),
  fc.record({ does: fc.constant('foreign ends' as const) }),
);
const stake = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 3_000_000n }));

test('no running rental has less usable energy than it sold minus the usage during its time', () => {
  fc.assert(
    fc.property(stake, stake, fc.array(step, { minLength: 4, maxLength: 60 }), (own, foreign, steps) => {
      const receiver = new Receiver(own, foreign);
      // The chain rounds usage up by less than one energy on each change.
      let touched = 0n;
      for (const each of steps) {
        if (each.does === 'rent') receiver.rent(each.energy, each.slots);
        if (each.does === 'use') receiver.use(each.percent);
        if (each.does === 'wait') receiver.pass(each.slots, each.meanwhile);
        if (each.does === 'foreign ends') receiver.foreignEnds();
        touched += 2n;
        expect(receiver.usable + touched).toBeGreaterThanOrEqual(receiver.owed);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('the reported cases leave the continuing rental all of its energy', () => {
  for (const [ended, used, running] of [
    [65_000n, 65_000n, 28_057n],
    [26_053n, 26_053n, 26_053n],
  ] as const) {
    const receiver = new Receiver(0n, 0n);
    receiver.rent(ended, 100n);
    receiver.rent(running, 10_000n);
    receiver.use((used * 100n) / (ended + running));
    const before = receiver.usable;
    receiver.pass(101n);
    expect(receiver.usable).toBeGreaterThanOrEqual(running - 1n);
    expect(before).toBeGreaterThan(0n);
  }
});

const reading = (given: Partial<ReclaimReading>): ReclaimReading => ({
  txId: 1n,
  readBlock: 10,
  used: 0n,
  limit: 93_057n,
  pool: 93_057n,
  sold: 65_000n,
  taken: 65_000n,
  block: 11,
  blockAtMs: 0,
  ...given,
});

const leftOf = (reclaims: readonly ReclaimReading[], deliveries: readonly ReceiverDelivery[] = []) =>
  leftoverOf({ reclaims, deliveries });

test('a reclaim that takes all used energy leaves none, and neither does one of unused energy', () => {
  expect(leftOf([]).energy).toBe(0n);
  expect(leftOf([reading({})]).energy).toBe(0n);
  expect(leftOf([reading({ used: 65_000n, limit: 65_000n, pool: 65_000n })]).energy).toBe(0n);
  expect(leftOf([reading({ used: 65_000n })]).energy).toBe(19_599n);
});

test('counts each use once for reclaims that were read before each other’s blocks', () => {
  const both = { used: 65_000n, limit: 158_057n, pool: 158_057n };
  const together = leftOf([reading(both), reading({ ...both, txId: 2n })]).energy;
  const [first] = [leftOf([reading(both)]).energy];
  // One after the other, each with its own reading.
  const moved = 65_000n - first;
  const apart = leftOf([
    reading(both),
    reading({ used: 65_000n - moved, limit: 93_057n, pool: 93_057n, readBlock: 11, block: 12 }),
  ]).energy;
  expect(Number(together - apart)).toBeCloseTo(0, -1);
  expect(together).toBeLessThan(first);
});

test('a delegation between the reading and the reclaim lets more usage stay, an earlier or later one does not', () => {
  const used = [reading({ used: 65_000n })];
  const beside = (block: number): bigint => leftOf(used, [{ block, energy: 70_000n }]).energy;
  expect(beside(10)).toBe(19_599n);
  // 65,000 × 65,000 ÷ 163,058 move, rounded down.
  expect(beside(11)).toBe(39_089n);
  expect(beside(12)).toBe(19_599n);
});

test('leftover usage recovers, never slower than the chain allows', () => {
  expect(unrecovered(1_000n, 0)).toBe(1_000n);
  expect(unrecovered(1_000n, 43_200_000)).toBe(607n);
  expect(unrecovered(1_000_000n, 864_000_000)).toBeLessThan(100n);
});

test('compensates rentals for their share, and for all of it if the receiver has no other energy', () => {
  expect(compensationFor(0n, 28_000n, 0n)).toBe(0n);
  expect(compensationFor(19_599n, 28_057n, 0n)).toBe(19_599n);
  fc.assert(
    fc.property(amount, amount, fc.bigInt({ min: 0n, max: 3_000_000n }), (left, sold, others) => {
      const given = compensationFor(left, sold, others);
      const share = (left * (sold + given)) / (sold + given + others);
      // The share itself, which is rounded down here, is not exceeded by what is left.
      expect(given * (sold + given + others)).toBeGreaterThanOrEqual(left * (sold + given));
      expect(given - share).toBeLessThanOrEqual(2n);
    }),
  );
});

test('counts no rounding of the chain as energy of others', () => {
  const othersOf = (limit: bigint) => leftOf([reading({ limit, pool: 93_057n })]).othersEnergy;
  expect([93_057n, 93_058n, 93_059n].map(othersOf)).toEqual([0n, 0n, 1n]);
});

test('of rentals that end together the newest gets the top-up, as in the search for losses', () => {
  const rental = (id: bigint): RunningRental => ({
    ...{ id, energy: 65_000n, endsAtMs: 1_000, canBeToppedUp: true },
    standingSun: sun(65_000n * SUN_PER_ENERGY),
  });
  expect(carrierOf([1n, 3n, 2n].map(rental), 0)?.id).toBe(3n);
});

test('the surplus of an ended rental compensates nothing', () => {
  const reclaim = { txId: 1n, used: 60_000n, limit: 130_000n, pool: 130_000n, sold: 65_000n, taken: 65_000n };
  const reclaims: ReclaimReading[] = [{ ...reclaim, readBlock: 9, block: 10, blockAtMs: 1_000_000 }];
  const rental = (id: bigint, endsAtMs: number, standing: bigint): RunningRental => ({
    ...{ id, energy: 65_000n, endsAtMs, canBeToppedUp: true },
    standingSun: sun(standing * SUN_PER_ENERGY),
  });
  const lostBeside = (other: RunningRental) =>
    lostEnergyOf(
      1n,
      { reclaims, deliveries: [], rentals: [rental(1n, 2_000_000, 65_000n), other], newestTopUp: undefined },
      RATIO,
      1_000_000,
    );
  expect(lostBeside(rental(2n, 1_000_000, 100_000n))).toBe(30_001n);
  expect(lostBeside(rental(2n, 1_500_000, 100_000n))).toBe(0n);
});
