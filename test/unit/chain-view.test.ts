import { jest } from '@jest/globals';
import { ChainView, type View } from '../../src/fulfilment/follow/chain-view.js';

const VIEW: View = {
  head: { number: 2, id: '02', parentId: '01', timestampMs: 2 },
  solid: { number: 1, id: '01', parentId: '00', timestampMs: 1 },
  ratio: { totalEnergyLimit: 1n, totalEnergyWeight: 1n },
  isTimeDisputed: false,
} as unknown as View;

it('a view that nobody renews is no view any more, and is one again when it is renewed', () => {
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
