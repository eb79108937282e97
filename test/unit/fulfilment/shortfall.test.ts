import { shortfall, type HeldLeg } from '../../../src/modules/pool/shortfall.js';

const leg = (sun: number, more: Partial<HeldLeg> = {}): HeldLeg => ({
  sun: BigInt(sun),
  delivery: 'solid',
  delivered_in: 90n,
  reclaim: null,
  reclaimed_in: null,
  ...more,
});
const included = (block: number) => ({ delivery: 'included', delivered_in: BigInt(block) }) as const;
const reclaimedIn = (block: number) => ({ reclaim: 'included', reclaimed_in: BigInt(block) }) as const;

describe('the shortfall of a pair, by the solid state of block 100', () => {
  it.each([
    ['nothing where all of it is on chain', [leg(4), leg(5)], 9, [0, 0]],
    ['a whole leg', [leg(4), leg(5)], 5, [4, 4]],
    ['nothing where more is on chain than recorded', [leg(4)], 7, [0, 0]],
    ['a leg besides one with a later delivery', [leg(4), leg(4, included(101))], 0, [4, 4]],
    ['a leg, or nothing, besides one whose delivery may be on chain', [leg(4), leg(4, included(100))], 4, [0, 4]],
    [
      'a leg, or nothing, besides one that was sent',
      [leg(4), leg(4, { delivery: 'sending', delivered_in: null })],
      4,
      [0, 4],
    ],
    ['a leg with a later reclaim', [leg(4, reclaimedIn(101))], 0, [4, 4]],
    ['a leg, or nothing, whose reclaim may be on chain', [leg(4, reclaimedIn(100))], 0, [0, 4]],
    ['a leg, or nothing, whose reclaim was sent', [leg(4, { reclaim: 'sending' })], 0, [0, 4]],
    ['nothing of a leg with a final reclaim', [leg(4, { reclaim: 'solid', reclaimed_in: 95n })], 0, [0, 0]],
  ] as const)('%s', (_what, legs, sun, [least, most]) => {
    expect(shortfall(legs, BigInt(sun), 100n)).toEqual({ least: BigInt(least), most: BigInt(most) });
  });
});
