// Stake 2.0 arithmetic: figures recorded from the real node, and properties for any usage.
import fc from 'fast-check';
import { type Usage, newAccount } from '../../../packages/devnet/src/accounts.js';
import { addTotals, parametersEntry, DEFAULT_PARAMETERS } from '../../../packages/devnet/src/parameters.js';
import {
  WINDOW_SLOTS,
  delegatable,
  handBack,
  increase,
  increaseFree,
  limitOfStake,
  recovered,
  spend,
} from '../../../packages/devnet/src/resources.js';
import { Store } from '../../../packages/devnet/src/state.js';

const NEVER: Usage = { used: 0n, slot: 0n, window: 0n };
const NOW = 598_390_496n;

function recordedChain(): Store {
  const store = new Store();
  store.put(...parametersEntry(DEFAULT_PARAMETERS));
  addTotals(store, { ENERGY: 20_000_500_000n, BANDWIDTH: 100_000n });
  return store;
}

test('computes the limits of the real node from stakes', () => {
  const store = recordedChain();
  expect(limitOfStake(store, 'ENERGY', 5_000_000_000n)).toBe(44_998n);
  expect(limitOfStake(store, 'ENERGY', 500_000_000_000n)).toBe(4_499_887n);
  expect(limitOfStake(store, 'BANDWIDTH', 100_000_000_000n)).toBe(43_200_000_000n);
  expect(limitOfStake(new Store(), 'ENERGY', 1n)).toBe(0n);
});

test('a hardened chain computes limits in exact integers, another in doubles (TIP-833)', () => {
  // Doubles lose the last units of this limit.
  const [weight, stake] = [9_007_199_254_740_993n, 9_007_199_254_740_993n];
  const limitAt = (parameters: Readonly<Record<string, bigint>>): bigint => {
    const store = new Store();
    store.put(...parametersEntry({ ...parameters, getTotalEnergyCurrentLimit: weight * 3_000_000n }));
    addTotals(store, { ENERGY: weight });
    return limitOfStake(store, 'ENERGY', stake);
  };
  expect(limitAt(DEFAULT_PARAMETERS)).toBe(stake * 3n);
  expect(limitAt({ ...DEFAULT_PARAMETERS, getAllowHardenResourceCalculation: 0n })).not.toBe(stake * 3n);
});

test.each(['ENERGY', 'BANDWIDTH'] as const)('a hardened limit of %s is the fraction, rounded down', (resource) => {
  const amount = fc.bigInt({ min: 1n, max: 10n ** 17n });
  fc.assert(
    fc.property(amount, fc.bigInt({ min: 1n, max: 10n ** 11n }), (stake, weight) => {
      const store = recordedChain();
      addTotals(store, { [resource]: weight });
      const whole = (resource === 'ENERGY' ? 20_000_500_000n : 100_000n) + weight;
      const limit = limitOfStake(store, resource, stake);
      const total = resource === 'ENERGY' ? 180_000_000_000n : 43_200_000_000n;
      expect(limit * whole * 1_000_000n <= stake * total).toBe(true);
      expect((limit + 1n) * whole * 1_000_000n > stake * total).toBe(true);
    }),
  );
});

test('345 bytes of used free bandwidth are 344 three blocks later, as recorded', () => {
  const used = increaseFree(0n, 345n, NOW, NOW);
  expect(used).toBe(345n);
  expect(increaseFree(used, 0n, NOW, NOW + 3n)).toBe(344n);
});

test('27 841 used energy is 27 838 three blocks later, as recorded', () => {
  const used = spend(NEVER, 27_841n, NOW);
  expect(recovered(used, NOW + 3n)).toBe(27_838n);
});

test('used energy lowers the amount that can be delegated, as recorded', () => {
  const pool = {
    ...newAccount('41' + '00'.repeat(20), 'genesis', 0n),
    frozen: { BANDWIDTH: 0n, ENERGY: 499_800_000_000n, TRON_POWER: 0n },
    usage: { BANDWIDTH: NEVER, ENERGY: { used: 37_834n, slot: NOW, window: 28_800_000n } },
  };
  expect(delegatable(recordedChain(), pool, 'ENERGY', NOW)).toBe(495_596_117_128n);
});

const usage = fc.record({
  used: fc.bigInt({ min: 0n, max: 180_000_000_000n }),
  slot: fc.constant(NOW),
  window: fc.bigInt({ min: 1_000n, max: 28_800_000n }),
});
const later = fc.bigInt({ min: 0n, max: 40_000n });

test('usage only shrinks with time, and is gone after its window', () => {
  fc.assert(
    fc.property(usage, later, later, (u, a, b) => {
      const [near, far] = a < b ? [a, b] : [b, a];
      expect(recovered(u, NOW + far)).toBeLessThanOrEqual(recovered(u, NOW + near));
      expect(recovered(u, NOW + WINDOW_SLOTS)).toBe(0n);
    }),
  );
});

test('further use adds up to within one unit, and never widens a window beyond a day', () => {
  fc.assert(
    fc.property(usage, fc.bigInt({ min: 1n, max: 100_000_000n }), later, (u, more, delay) => {
      const before = recovered(u, NOW + delay);
      const after = increase(u, more, NOW + delay);
      expect(after.used - before - more).toBeLessThanOrEqual(1n);
      expect(after.used - before - more).toBeGreaterThanOrEqual(-1n);
      expect(after.window).toBeLessThanOrEqual(28_800_000n);
    }),
  );
});

test('adds all usage that a reclaim returns, over a window between the two', () => {
  fc.assert(
    fc.property(usage, usage, (owner, receiver) => {
      const own = increase(owner, 0n, NOW);
      const got = handBack(owner, receiver, receiver.used, NOW);
      expect(got.used).toBe(own.used + receiver.used);
      if (got.used === 0n) return;
      const windows = [own.window, receiver.window].sort((a, b) => (a < b ? -1 : 1));
      expect(got.window).toBeGreaterThanOrEqual(windows[0] ?? 0n);
      expect(got.window).toBeLessThanOrEqual(windows[1] ?? 0n);
    }),
  );
});
