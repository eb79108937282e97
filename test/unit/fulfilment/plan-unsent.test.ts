// The next steps for legs of which nothing was sent: given up after a time, or moved to another wallet.
import type { ClaimedLeg } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { BEFORE, ENDS_AT_MS, leg, old, order, plan, solid, type TxGiven } from './claimed-orders.js';

describe('a top-up of a running rental', () => {
  const topUp = (txs: readonly TxGiven[], given: Partial<ClaimedLeg> = {}) =>
    leg('reserved', txs, { isTopUp: true, ...given });
  const running = (added: ClaimedLeg) =>
    order('delivered', [leg('active', [solid]), added], { isSettled: true, endsAtMs: ENDS_AT_MS });

  it('is given up when nothing of it could be sent for too long, and not before', () => {
    expect(plan(running(topUp([], old)), BEFORE)).toEqual(['release']);
    expect(plan(running(topUp([])), BEFORE)).toEqual(['build delegate#1']);
  });
});

describe('a wallet that cannot deliver', () => {
  it.each<[string, readonly TxGiven[], readonly string[]]>([
    ['has its leg moved before anything is recorded', [], ['move']],
    ['has its leg moved with its built bytes', [{ status: 'built' }], ['move']],
    ['has its leg moved with its signed bytes', [{ status: 'signed' }], ['move']],
    ['keeps a leg whose bytes may be on their way', [{ status: 'sending' }], ['find delegate']],
  ])('%s', (_, txs, wanted) => {
    expect(plan(order('reserved', [leg('reserved', txs, { canDeliver: false })]))).toEqual(wanted);
  });
});
