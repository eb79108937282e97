// A bounded map whose values expire after their own time.
import { ExpiringMap } from '../../../src/platform/support/expiring-map.js';

test('returns a value until its own time is over', () => {
  const map = new ExpiringMap<string>(10);
  map.set('kept', 'a', Number.POSITIVE_INFINITY);
  map.set('over', 'b', 0);
  expect([map.get('kept'), map.get('over'), map.get('unknown')]).toEqual(['a', undefined, undefined]);
});

test('evicts the value that was set first, and counts a repeated key as set last', () => {
  const map = new ExpiringMap<number>(2);
  map.set('first', 1, Number.POSITIVE_INFINITY);
  map.set('second', 2, Number.POSITIVE_INFINITY);
  map.set('first', 3, Number.POSITIVE_INFINITY);
  map.set('third', 4, Number.POSITIVE_INFINITY);
  expect([map.get('first'), map.get('second'), map.get('third')]).toEqual([3, undefined, 4]);
});
