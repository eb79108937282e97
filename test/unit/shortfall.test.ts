import { shortfall, type HeldLeg } from '../../src/pool/shortfall.js';

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
    ['nothing where all of it stands', [leg(4), leg(5)], 9, [0, 0]],
    ['a whole leg', [leg(4), leg(5)], 5, [4, 4]],
    ['nothing where more stands than is held', [leg(4)], 7, [0, 0]],
    ['a leg beside one whose delivery came later', [leg(4), leg(4, included(101))], 0, [4, 4]],
    ['a leg, or nothing, beside one whose delivery may stand', [leg(4), leg(4, included(100))], 4, [0, 4]],
    [
      'a leg, or nothing, beside one that was sent',
      [leg(4), leg(4, { delivery: 'sending', delivered_in: null })],
      4,
      [0, 4],
    ],
    ['a leg whose reclaim came later', [leg(4, reclaimedIn(101))], 0, [4, 4]],
    ['a leg, or nothing, whose reclaim may stand', [leg(4, reclaimedIn(100))], 0, [0, 4]],
    ['a leg, or nothing, whose reclaim was sent', [leg(4, { reclaim: 'sending' })], 0, [0, 4]],
    ['nothing of a leg whose reclaim is final', [leg(4, { reclaim: 'solid', reclaimed_in: 95n })], 0, [0, 0]],
  ] as const)('%s', (_what, legs, sun, [least, most]) => {
    expect(shortfall(legs, BigInt(sun), 100n)).toEqual({ least: BigInt(least), most: BigInt(most) });
  });
});
