// The refill plan of an auto-delegated address, from its current and expected energy: pure rules.
import { planRefill, type Need, type StandingRental } from '../../../src/modules/auto-delegations/refill-plan.js';
import type { Energy } from '../../../src/domain/units.js';

const CLOCK_MS = 1_000_000_000;
const ENERGY = 130_000n as Energy;
const terms = {
  keepEnergy: ENERGY,
  refillBelow: 104_000n as Energy,
  durationSec: 3600,
  idleAfterSec: 86_400,
  untilMs: undefined,
};

const rental = (more: Partial<StandingRental> = {}): StandingRental => ({
  orderId: 1n,
  isOwn: true,
  energy: ENERGY,
  standing: ENERGY,
  coming: 0n as Energy,
  endsAtMs: CLOCK_MS + 1_800_000,
  isReclaimed: false,
  extendable: 'yes',
  ...more,
});

const need = (limit: bigint, rentals: readonly StandingRental[], more: Partial<Need> = {}): Need => ({
  ...{ terms, clockMs: CLOCK_MS, usedAtMs: CLOCK_MS, reading: { limit, used: 0n }, rentals },
  ...more,
});

it('does not count a rental that ends within a minute', () => {
  const ending = rental({ isOwn: false, endsAtMs: CLOCK_MS + 60_000 });
  expect(planRefill(need(ENERGY, [ending])).refill).toEqual({ kind: 'order', energy: ENERGY });
  const later = rental({ isOwn: false, endsAtMs: CLOCK_MS + 60_001 });
  expect(planRefill(need(ENERGY, [later]))).toMatchObject({ refill: undefined, changeAtMs: CLOCK_MS + 1 });
});

it('buys below the threshold, and neither at it nor for a rental that ends with the need', () => {
  const { refillBelow } = terms;
  expect(planRefill(need(refillBelow, [])).refill).toBeUndefined();
  expect(planRefill(need(refillBelow - 1n, [])).refill).toMatchObject({ kind: 'order' });
  const last = rental({ endsAtMs: CLOCK_MS + 30_000 });
  const until = (untilMs: number) => ({ terms: { ...terms, untilMs } });
  expect(planRefill(need(ENERGY, [last], until(CLOCK_MS + 30_000))).refill).toBeUndefined();
  expect(planRefill(need(ENERGY, [last], until(CLOCK_MS + 30_001))).refill).toBeDefined();
});

it('does not subtract an already reclaimed rental a second time', () => {
  const gone = rental({ endsAtMs: CLOCK_MS - 3000, isReclaimed: true, extendable: 'no' });
  expect(planRefill(need(ENERGY, [gone, rental({ orderId: 2n })])).refill).toBeUndefined();
});

it('does not buy pending energy a second time', () => {
  const coming = rental({ standing: 0n as Energy, coming: ENERGY, endsAtMs: undefined, extendable: 'later' });
  expect(planRefill(need(0n, [coming]))).toMatchObject({ usable: ENERGY, refill: undefined });
});

it('extends its own rental that ends if it is whole, and replaces it if it is short', () => {
  const ending = rental({ endsAtMs: CLOCK_MS + 30_000 });
  expect(planRefill(need(ENERGY, [ending])).refill).toMatchObject({ kind: 'extension', rental: ending });
  const short = { ...ending, extendable: 'no' as const };
  expect(planRefill(need(ENERGY, [short])).refill).toEqual({ kind: 'order', energy: ENERGY });
});

it('names the missing energy for a rental that cannot be extended after all', () => {
  const half = 65_000n as Energy;
  const ending = rental({ energy: half, standing: half, endsAtMs: CLOCK_MS + 30_000 });
  expect(planRefill(need(ENERGY, [ending])).refill).toMatchObject({ kind: 'extension', replacement: half });
});

it('replaces a rental that has ended', () => {
  const ended = rental({ endsAtMs: CLOCK_MS });
  expect(planRefill(need(ENERGY, [ended])).refill).toEqual({ kind: 'order', energy: ENERGY });
});

it('changes next when a rental ends, in its last minute', () => {
  const ending = rental({ endsAtMs: CLOCK_MS + 30_000 });
  const ended = rental({ endsAtMs: CLOCK_MS, orderId: 2n });
  const { changeAtMs } = planRefill(need(2n * ENERGY, [ending, ended]));
  expect(changeAtMs).toBe(CLOCK_MS + 30_000);
});

it('never buys more than is kept, also when more energy was used or is lost than the address has', () => {
  const order = { kind: 'order', energy: ENERGY };
  const overdrawn = need(0n, [], { reading: { limit: 100n, used: 5000n } });
  expect(planRefill(overdrawn)).toMatchObject({ usable: 0n, refill: order });
  const ending = rental({ isOwn: false, endsAtMs: CLOCK_MS + 30_000 });
  expect(planRefill(need(ENERGY - 1000n, [ending])).refill).toEqual(order);
});

it('replaces a rental of more than is now kept, instead of paying for all of it again', () => {
  const ending = rental({ energy: 130_001n as Energy, standing: 130_001n as Energy, endsAtMs: CLOCK_MS + 30_000 });
  expect(planRefill(need(130_001n, [ending])).refill).toEqual({ kind: 'order', energy: ENERGY });
});

it('an ending rental takes its share of the usage, and the rest remains', () => {
  const ending = rental({
    isOwn: false,
    energy: 65_000n as Energy,
    standing: 65_000n as Energy,
    endsAtMs: CLOCK_MS + 1,
  });
  const reading = { limit: ENERGY, used: 20_000n };
  expect(planRefill(need(ENERGY, [ending], { reading })).refill).toEqual({ kind: 'order', energy: 75_000n });
});

it('waits to extend a rental until it is settled, unless the address runs short before', () => {
  const unsettled = rental({ extendable: 'later', endsAtMs: CLOCK_MS + 30_000 });
  expect(planRefill(need(ENERGY, [unsettled])).refill).toEqual({ kind: 'wait' });
  const reading = { limit: ENERGY as bigint, used: 27_000n };
  expect(planRefill(need(ENERGY, [unsettled], { reading })).refill).toEqual({ kind: 'order', energy: ENERGY });
  const enough = { limit: ENERGY as bigint, used: ENERGY - terms.refillBelow };
  expect(planRefill(need(ENERGY, [unsettled], { reading: enough })).refill).toEqual({ kind: 'wait' });
  const soon = { ...unsettled, endsAtMs: CLOCK_MS + 15_000 };
  expect(planRefill(need(ENERGY, [soon])).refill).toEqual({ kind: 'order', energy: ENERGY });
});

it('plans ahead by half of the duration if that is less than a minute', () => {
  const short = { ...terms, durationSec: 60 };
  const ending = (inMs: number) =>
    need(ENERGY, [rental({ isOwn: false, endsAtMs: CLOCK_MS + inMs })], { terms: short });
  expect(planRefill(ending(30_001)).refill).toBeUndefined();
  expect(planRefill(ending(30_000)).refill).toEqual({ kind: 'order', energy: ENERGY });
});

it('buys nothing after the idle time, or after its end', () => {
  const unused = need(0n, [], { usedAtMs: CLOCK_MS - terms.idleAfterSec * 1000 });
  expect(planRefill(unused)).toMatchObject({ refill: undefined, isAsleep: true });
  expect(planRefill({ ...unused, usedAtMs: unused.usedAtMs + 1 }).refill).toEqual({ kind: 'order', energy: ENERGY });
  const over = need(0n, [], { terms: { ...terms, untilMs: CLOCK_MS } });
  expect(planRefill(over)).toMatchObject({ refill: undefined, isAsleep: false });
});

it('does not count pending energy for a rental that ends within a minute', () => {
  const ending = rental({ isOwn: false, standing: 0n as Energy, coming: ENERGY, endsAtMs: CLOCK_MS + 60_000 });
  expect(planRefill(need(0n, [ending])).refill).toEqual({ kind: 'order', energy: ENERGY });
});
