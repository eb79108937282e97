// The fee limit that the SDK passes to tronweb.
import { feeLimitOf } from '../../../packages/sdk/src/index.js';

it('is that of the answer', () => {
  expect(feeLimitOf({ fee_limit_sun: 6_500_000 })).toEqual({ feeLimit: 6_500_000 });
});

it('is the highest of an order and its extensions, since the energy price may have changed', () => {
  const order = { fee_limit_sun: 6_500_000, extensions: [{ fee_limit_sun: 13_650_000 }, { fee_limit_sun: 6_500_000 }] };
  expect(feeLimitOf(order)).toEqual({ feeLimit: 13_650_000 });
  expect(feeLimitOf({ fee_limit_sun: 6_500_000, extensions: [{}] })).toEqual({ feeLimit: 6_500_000 });
});

it('is refused for an answer without one', () => {
  expect(() => feeLimitOf({})).toThrow(TypeError);
  expect(() => feeLimitOf({ extensions: [] })).toThrow('this answer has no fee_limit_sun');
});
