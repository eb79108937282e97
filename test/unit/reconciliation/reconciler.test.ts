import { restSec } from '../../../src/modules/reconciliation/reconciler.js';

it('the rest between passes is proportional to their duration, and bounded', () => {
  expect(restSec(60, 1)).toBe(60);
  expect(restSec(60, 12)).toBe(120);
  expect(restSec(60, 3600)).toBe(300);
  expect(restSec(5, 0.1)).toBe(5);
});
