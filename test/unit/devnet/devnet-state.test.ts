// The journaled store: any past block can be read, any recent one undone.
import fc from 'fast-check';
import { Overlay, Store } from '../../../packages/devnet/src/state.js';

const KEYS = ['a', 'b', 'c', 'i:x:to:y'];
const change = fc.record({ key: fc.constantFrom(...KEYS), value: fc.option(fc.integer(), { nil: undefined }) });
const history = fc.array(fc.array(change, { maxLength: 6 }), { minLength: 1, maxLength: 12 });

function snapshot(read: (key: string) => unknown): unknown[] {
  return KEYS.map(read);
}

test('every past state stays readable, and undoing blocks restores it', () => {
  fc.assert(
    fc.property(history, (blocks) => {
      const store = new Store();
      const states: unknown[][] = [snapshot((k) => store.get(k))];
      blocks.forEach((changes, i) => {
        store.open(i + 1);
        for (const { key, value } of changes) store.put(key, value);
        states.push(snapshot((k) => store.get(k)));
      });
      states.forEach((state, block) => {
        const view = store.at(block);
        expect(snapshot((k) => view.get(k))).toEqual(state);
      });
      const copy = new Store();
      copy.load(store.image());
      for (let block = blocks.length; block > 0; block--) {
        expect(copy.undo()).toBe(true);
        expect(snapshot((k) => copy.get(k))).toEqual(states[block - 1]);
      }
      expect(copy.undo()).toBe(false);
    }),
  );
});

test('a forced value holds in every state, also after blocks are undone', () => {
  const store = new Store();
  store.open(1);
  store.put('a', 1);
  store.open(2);
  store.put('a', 2);
  store.force('a', 9);
  expect([store.get('a'), store.at(1).get('a'), store.at(0).get('a')]).toEqual([9, 9, 9]);
  store.undo();
  expect(store.get('a')).toBe(9);
});

test('the journal keeps a bounded number of layers', () => {
  const store = new Store();
  for (let block = 1; block <= 500; block++) {
    store.open(block);
    store.put(`key${String(block)}`, block);
    store.trim(65);
  }
  expect(store.depth).toBe(65);
});

test('an overlay changes nothing until it is committed', () => {
  const store = new Store();
  store.put('a', 1);
  const overlay = new Overlay(store);
  overlay.put('a', undefined);
  overlay.put('b', 2);
  expect([overlay.get('a'), overlay.get('b'), store.get('a'), store.get('b')]).toEqual([undefined, 2, 1, undefined]);
  overlay.commit(store);
  expect([store.get('a'), store.get('b')]).toEqual([undefined, 2]);
});
