// The next steps of an order, from its recorded state alone: the reliability rules as a table.
import { DELIVERY_DEATHS_MAX, isEnding } from '../../../src/modules/fulfilment/plan/plan.js';
import type { ClaimedLeg, ClaimedOrder, ClaimedTx } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { energy } from '../../../src/domain/units.js';
import { BEFORE, dead, ENDS_AT_MS, leg, old, order, plan, reclaim, solid, type TxGiven } from './claimed-orders.js';

describe('a delivery', () => {
  const rules: readonly [string, ClaimedOrder, readonly string[]][] = [
    ['begins with the first attempt', order('reserved', [leg('reserved')]), ['build delegate#1']],
    [
      'begins every leg',
      order('reserved', [leg('reserved'), leg('reserved')]),
      ['build delegate#1', 'build delegate#1'],
    ],
    [
      'goes on with bytes that were recorded',
      order('reserved', [leg('reserved', [{ status: 'built' }])]),
      ['send delegate'],
    ],
    [
      'goes on with bytes that were signed',
      order('reserved', [leg('reserved', [{ status: 'signed' }])]),
      ['send delegate'],
    ],
    [
      'never makes a second one while the first may be anywhere',
      order('placed', [leg('placed', [{ status: 'sending' }])]),
      ['find delegate'],
    ],
    ['waits for its block to become solid', order('delivered', [leg('active', [{ status: 'included' }])]), []],
    ['after a proven death makes a further attempt', order('placed', [leg('placed', [dead()])]), ['build delegate#2']],
    [
      'after bytes that were dropped unsent counts on',
      order('reserved', [leg('reserved', [{ status: 'dropped' }])]),
      ['build delegate#2'],
    ],
    [
      'a dropped attempt is no death',
      order('placed', [leg('placed', [dead(1), { status: 'dropped', attempt: 2 }])]),
      ['build delegate#3'],
    ],
    [
      'deaths of what no node was ever sent are none',
      order('placed', [
        leg(
          'placed',
          [1, 2, 3].map((attempt) => ({ ...dead(attempt), sends: 0 })),
        ),
      ]),
      ['build delegate#4'],
    ],
    [
      'a settled one needs nothing until it ends',
      order('delivered', [leg('active', [solid])], { isSettled: true, endsAtMs: ENDS_AT_MS }),
      [],
    ],
    [
      'an activation is made as one',
      order('reserved', [leg('reserved')], { kind: 'activation', energy: undefined }),
      ['build activate#1'],
    ],
  ];
  it.each(rules)('%s', (_, given, wanted) => {
    expect(plan(given)).toEqual(wanted);
  });
});

describe('an order of several parts', () => {
  const activation = (status: ClaimedLeg['status'], txs: readonly TxGiven[] = [], given: Partial<ClaimedLeg> = {}) =>
    leg(status, txs, { kind: 'activation', energy: undefined, ...given });
  const activate = (status: ClaimedTx['status']): TxGiven => ({ status, purpose: 'activate' });
  const bandwidth = (status: ClaimedLeg['status'], txs: readonly TxGiven[] = [], units = 1000n) =>
    leg(status, txs, { kind: 'bandwidth', energy: undefined, bandwidth: status === 'active' ? units : undefined });
  const bundle = (status: ClaimedOrder['status'], legs: readonly ClaimedLeg[], given: Partial<ClaimedOrder> = {}) =>
    order(status, legs, { bandwidth: 1000n, ...given });
  const included: TxGiven = { status: 'included' };
  const rules: readonly [string, ClaimedOrder, readonly string[]][] = [
    [
      'begins with its activation alone',
      bundle('reserved', [activation('reserved'), leg('reserved'), bandwidth('reserved')]),
      ['build activate#1'],
    ],
    [
      'delegates nothing while the activation is in no block, however long that takes',
      bundle('placed', [activation('placed', [activate('sending')]), leg('reserved', [], old), bandwidth('reserved')]),
      ['find activate'],
    ],
    [
      'delegates everything once the activation is in a block',
      bundle('placed', [activation('active', [activate('included')]), leg('reserved'), bandwidth('reserved')]),
      ['build delegate#1', 'build delegate#1'],
    ],
    [
      'looks for delegations of before the block of the activation was reverted, and makes none anew',
      bundle('placed', [
        activation('placed', [activate('sending')]),
        leg('placed', [{ status: 'sending' }]),
        bandwidth('placed', [dead()]),
      ]),
      ['find activate', 'find delegate'],
    ],
    [
      'without enough bandwidth is topped up like one without enough energy',
      bundle('placed', [leg('active', [included]), bandwidth('active', [included], 999n)]),
      ['topUp'],
    ],
    [
      'whose activation is proven impossible sends nothing, and returns everything',
      bundle('placed', [activation('placed', [dead(1, 'activate'), dead(2, 'activate')]), leg('reserved')]),
      ['release', 'release', 'undo'],
    ],
    [
      'returns what was delivered once another part is lost',
      bundle('placed', [leg('active', [solid]), bandwidth('placed', [dead(1), dead(2)])]),
      ['build reclaim#1', 'release', 'undo'],
    ],
    [
      'waits for the fate of its activation before the refund',
      bundle('placed', [activation('active', [activate('included')]), leg('released')], { isUndoing: true }),
      [],
    ],
    [
      'is refunded with a final activation, of which nothing is reclaimed',
      bundle('placed', [activation('active', [activate('solid')]), leg('released')], { isUndoing: true }),
      ['refund'],
    ],
    [
      'takes both resources back at its end, and nothing of the activation',
      bundle(
        'delivered',
        [activation('reclaimed', [activate('solid')]), leg('active', [solid]), bandwidth('active', [solid])],
        {
          isSettled: true,
          endsAtMs: BEFORE,
        },
      ),
      ['build reclaim#1', 'build reclaim#1'],
    ],
    [
      'waits for the second undelegation after the first',
      bundle('delivered', [leg('reclaimed', [reclaim('solid')]), bandwidth('reclaiming', [reclaim('sending')])], {
        isSettled: true,
        endsAtMs: BEFORE,
      }),
      ['find reclaim'],
    ],
  ];
  it.each(rules)('%s', (_, given, wanted) => {
    expect(plan(given)).toEqual(wanted);
  });
});

describe('energy', () => {
  it('below the sold amount is topped up once all of it is on chain', () => {
    const short = leg('active', [{ status: 'included' }], { energy: energy(49_999) });
    for (const status of ['placed', 'unresolved'] as const) {
      expect(plan(order(status, [short]))).toEqual(['topUp']);
    }
    expect(plan(order('placed', [short, leg('reserved')]))).toEqual(['build delegate#1']);
    expect(plan(order('placed', [short, leg('placed', [{ status: 'sending' }])]))).toEqual(['find delegate']);
  });

  it('adds up over the legs, without released ones', () => {
    const half = () => leg('active', [{ status: 'included' }], { energy: energy(25_000) });
    expect(plan(order('placed', [half(), leg('released')]))).toEqual(['topUp']);
    expect(plan(order('placed', [half(), half()]))).toEqual([]);
  });
});

describe('an order that cannot be delivered', () => {
  const lost = () =>
    leg(
      'placed',
      Array.from({ length: DELIVERY_DEATHS_MAX }, (_, index) => dead(index + 1)),
    );
  const moved = (count: number) => Array.from({ length: count }, () => leg('released', [dead(1)]));
  const rules: readonly [string, ClaimedOrder, readonly string[]][] = [
    ['is undone after proven deaths, never after a time', order('placed', [lost()]), ['release', 'undo']],
    [
      'is not undone while a transaction may live',
      order('placed', [leg('placed', [{ status: 'sending', ageSec: 99_999 }], old)]),
      ['find delegate'],
    ],
    [
      'waits for the solid block of another leg before it takes that back',
      order('placed', [lost(), leg('active', [{ status: 'included' }])]),
      ['release', 'undo'],
    ],
    [
      'reclaims what other legs delivered',
      order('placed', [leg('released'), leg('active', [solid])], { isUndoing: true }),
      ['build reclaim#1'],
    ],
    [
      'follows what of it is still on its way',
      order('placed', [leg('placed', [{ status: 'sending' }])], { isUndoing: true }),
      ['find delegate'],
    ],
    [
      'is refunded once every leg has ended',
      order('placed', [leg('released'), leg('reclaimed', [solid, reclaim('solid')])], { isUndoing: true }),
      ['refund'],
    ],
    [
      'is not refunded before',
      order('placed', [leg('released'), leg('reclaiming', [solid, reclaim('included')])], { isUndoing: true }),
      [],
    ],
    [
      'is not undone once a block delivered it after all',
      order('delivered', [leg('active', [dead(1), dead(2), { status: 'included', attempt: 3 }])]),
      [],
    ],
    [
      'is not undone when legs that died side by side were moved, each once',
      order('placed', [...moved(4), leg('reserved')]),
      ['build delegate#1'],
    ],
    [
      'is undone when what they were moved to dies too',
      order('placed', [...moved(4), leg('placed', [dead(1)])]),
      ['release', 'undo'],
    ],
    [
      'is undone when no node could be sent it for too long',
      order('placed', [leg('placed', [{ ...dead(1), sends: 0 }], old)]),
      ['release', 'undo'],
    ],
    [
      'is undone when nothing of it could be sent for too long',
      order('reserved', [leg('reserved', [], old)]),
      ['release', 'undo'],
    ],
    [
      'drops bytes that nobody signs',
      order('placed', [leg('active', [solid]), leg('reserved', [{ status: 'built' }], old)]),
      ['build reclaim#1', 'send delegate', 'undo'],
    ],
    [
      'makes no new attempt once it was unresolved',
      order('unresolved', [leg('placed', [dead()])]),
      ['release', 'undo'],
    ],
    [
      'is undone when another party undelegated a part of it before all of it was there',
      order('placed', [leg('reclaimed', [solid], { isClosed: true }), leg('active', [solid])]),
      ['build reclaim#1', 'undo'],
    ],
    [
      'is refunded when nothing else of it is there any more',
      order('unresolved', [leg('reclaimed', [solid], { isClosed: true })]),
      ['undo', 'refund'],
    ],
    ['is left alone when it is over', order('refunded', [leg('released')], { isSettled: true, isUndoing: true }), []],
  ];
  it.each(rules)('%s', (_, given, wanted) => {
    expect(plan(given)).toEqual(wanted);
  });
});

describe('the end of a rental', () => {
  const running = (legs: readonly ClaimedLeg[]) => order('delivered', legs, { isSettled: true, endsAtMs: ENDS_AT_MS });

  it('comes by the chain’s clock, to the millisecond', () => {
    expect(plan(running([leg('active', [solid])]), BEFORE)).toEqual([]);
    expect(plan(running([leg('active', [solid])]), ENDS_AT_MS)).toEqual(['build reclaim#1']);
    expect(isEnding(running([]), BEFORE)).toBe(false);
    expect(isEnding(running([]), ENDS_AT_MS)).toBe(true);
    // A leg that a foreign act ended does not end the others.
    expect(isEnding(running([leg('reclaimed', [solid], { isClosed: true }), leg('active', [solid])]), BEFORE)).toBe(
      false,
    );
    expect(isEnding(running([leg('reclaimed', [solid]), leg('active', [solid])]), BEFORE)).toBe(true);
  });

  it('never comes before the delivery is settled', () => {
    const unsettled = order('delivered', [leg('active', [solid])], { endsAtMs: ENDS_AT_MS });
    expect(plan(unsettled, ENDS_AT_MS + 1_000_000)).toEqual([]);
  });

  const rules: readonly [string, readonly ClaimedLeg[], readonly string[]][] = [
    ['reclaims every leg', [leg('active', [solid]), leg('active', [solid])], ['build reclaim#1', 'build reclaim#1']],
    ['goes on with what a dead worker recorded', [leg('active', [solid, reclaim('built')])], ['send reclaim']],
    ['goes on with what a dead worker signed', [leg('active', [solid, reclaim('signed')])], ['send reclaim']],
    [
      'never sends a second while the first may be anywhere',
      [leg('reclaiming', [solid, reclaim('sending')])],
      ['find reclaim'],
    ],
    [
      'tries again after a proven death, without end',
      [leg('reclaiming', [solid, reclaim('dead', 1), reclaim('dead', 2)])],
      ['build reclaim#3'],
    ],
    ['waits for solid blocks', [leg('reclaiming', [solid, reclaim('included')])], []],
    ['is over when every leg is back', [leg('reclaimed', [solid, reclaim('solid')]), leg('released')], []],
  ];
  it.each(rules)('%s', (_, legs, wanted) => {
    expect(plan(running(legs), ENDS_AT_MS)).toEqual(wanted);
  });

  it('continues after a fork turned the chain’s clock back', () => {
    const begun = running([leg('reclaiming', [solid, reclaim('sending')]), leg('active', [solid])]);
    expect(plan(begun, BEFORE)).toEqual(['build reclaim#1', 'find reclaim']);
  });
});
