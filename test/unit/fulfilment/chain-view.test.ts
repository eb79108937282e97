import { jest } from '@jest/globals';
import { ChainView, type View } from '../../../src/modules/fulfilment/follow/chain-view.js';

const VIEW: View = {
  head: { number: 2, id: '02', parentId: '01', timestampMs: 2 },
  solid: { number: 1, id: '01', parentId: '00', timestampMs: 1 },
  ratio: { totalEnergyLimit: 1n, totalEnergyWeight: 1n },
  isTimeDisputed: false,
} as unknown as View;

it('drops a view that is not renewed, and returns it again after a renewal', () => {
  let nowMs = 1_000;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    const chainView = new ChainView();
    expect(chainView.current).toBeUndefined();
    chainView.update(VIEW);
    expect(chainView.current).toBe(VIEW);
    nowMs += 10_000;
    expect(chainView.current).toBe(VIEW);
    nowMs += 20_000;
    expect(chainView.current).toBeUndefined();
    chainView.update(VIEW);
    expect(chainView.current).toBe(VIEW);
  } finally {
    clock.mockRestore();
  }
});

it('counts the chain as moving once blocks come again, with final blocks up to a minute apart', () => {
  let nowMs = 1_000;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    const chainView = new ChainView();
    let number = 1;
    const renew = (afterMs: number, isSolidLater: boolean): number => {
      nowMs += afterMs;
      if (isSolidLater) number += 1;
      chainView.update({ ...VIEW, solid: { ...VIEW.solid, number } });
      return chainView.movingSec;
    };
    renew(0, true);
    for (let round = 0; round < 6; round += 1) expect(renew(10_000, false)).toBe((round + 1) * 10);
    expect(renew(0, true)).toBe(60);
    for (let round = 0; round < 6; round += 1) renew(10_000, false);
    expect(renew(1, true)).toBe(0);
    expect(renew(10_001, false)).toBe(0);
  } finally {
    clock.mockRestore();
  }
});
