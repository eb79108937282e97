// The receivers of test projects: hashes of their names, recomputed here, and the moves of an order to each.
import { createHash } from 'node:crypto';
import { isAddress } from '../../../src/domain/base58-address.js';
import { addressFromBytes } from '../../../src/platform/chain/address.js';
import { ORDER_TRANSITIONS, type OrderStatus } from '../../../src/domain/order-state.js';
import { TEST_ADDRESSES, testAddressName, type TestAddressName } from '../../../src/domain/test-addresses.js';
import type { TestMove } from '../../../src/modules/order-records/test-order-transitions.js';
import { nextMove, type PlayedOrder } from '../../../src/modules/test-projects/test-play.js';

const NAMES = Object.keys(TEST_ADDRESSES) as TestAddressName[];

/** The state of an order after each move. */
const AFTER: Readonly<Record<TestMove, Partial<PlayedOrder> | 'over'>> = {
  place: { status: 'placed' },
  deliver: { status: 'delivered' },
  'set aside': { status: 'unresolved' },
  settle: { isSettled: true },
  refund: 'over',
  end: 'over',
};

/** Returns the moves of a rental to `receiver`, with the seconds before each but the first. */
function playOf(receiver: string): (readonly [TestMove, number | undefined])[] {
  const moves: (readonly [TestMove, number | undefined])[] = [];
  let order: PlayedOrder = { kind: 'rental', status: 'reserved', isSettled: false, receiver };
  let beforeSec: number | undefined;
  for (;;) {
    const { move, thenSec } = nextMove(order);
    moves.push([move, beforeSec]);
    beforeSec = thenSec;
    const after = AFTER[move];
    if (after === 'over') return moves;
    if (after.status !== undefined && after.status !== order.status) {
      expect(ORDER_TRANSITIONS[order.status] as readonly OrderStatus[]).toContain(after.status);
    }
    order = { ...order, ...after };
  }
}

test.each(NAMES)('the address of "%s" is the hash of its name, so that its key is unknown', (name) => {
  const hash = createHash('sha256').update(`tron-energy-rental test address: ${name}`).digest();
  const address = addressFromBytes(Buffer.concat([Buffer.from([0x41]), hash.subarray(0, 20)]));
  expect(TEST_ADDRESSES[name]).toBe(address);
  expect(isAddress(address)).toBe(true);
  expect(testAddressName(address)).toBe(name);
});

test('no other address has a name', () => {
  expect(testAddressName('TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF')).toBeUndefined();
  expect(new Set(Object.values(TEST_ADDRESSES)).size).toBe(NAMES.length);
});

test('each address plays its name, by moves of real orders', () => {
  const delivered = ['place', 'deliver', 'settle', 'end'];
  const moves = (receiver: string): TestMove[] => playOf(receiver).map(([move]) => move);
  expect(moves(TEST_ADDRESSES.delivered)).toEqual(delivered);
  expect(moves(TEST_ADDRESSES['delivered late'])).toEqual(delivered);
  expect(moves('TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF')).toEqual(delivered);
  expect(moves(TEST_ADDRESSES.refunded)).toEqual(['place', 'refund']);
  expect(moves(TEST_ADDRESSES['unresolved then delivered'])).toEqual([
    'place',
    'set aside',
    'deliver',
    'settle',
    'end',
  ]);
});

test('late is later than the family’s clients wait, and delivered is not', () => {
  const beforeDelivery = (receiver: string) => playOf(receiver).find(([move]) => move === 'deliver')![1]!;
  expect(beforeDelivery(TEST_ADDRESSES['delivered late'])).toBeGreaterThan(50);
  expect(beforeDelivery(TEST_ADDRESSES.delivered)).toBeLessThan(10);
});

test('an activation is over once it is settled, and an ended order is played no further', () => {
  const settled: PlayedOrder = {
    kind: 'activation',
    status: 'delivered',
    isSettled: true,
    receiver: TEST_ADDRESSES['not activated'],
  };
  expect(() => nextMove(settled)).toThrow('what is over is not played on');
  expect(() => nextMove({ ...settled, status: 'refunded' })).toThrow('what is over is not played on');
});
