// Claimed orders in a given state, and their plans as text.
import { planFor, type Plan } from '../../../src/modules/fulfilment/plan/plan.js';
import type { Tally, ClaimedLeg, ClaimedOrder, ClaimedTx } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { energy, sun } from '../../../src/domain/units.js';

const UNSENT_MAX_SEC = 600;
export const ENDS_AT_MS = 2_000_000;
export const BEFORE = ENDS_AT_MS - 1;

let made = 0n;

export type TxGiven = Partial<ClaimedTx> & Pick<ClaimedTx, 'status'>;

function tx(given: TxGiven): ClaimedTx {
  made += 1n;
  return {
    id: made,
    legId: 0n,
    purpose: 'delegate',
    attempt: 1,
    txid: made.toString(16).padStart(64, '0'),
    rawData: Buffer.of(1),
    signature: Buffer.alloc(65),
    refBlockNumber: 1,
    expiresAtMs: 1_000_000,
    blockNumber: undefined,
    blockId: undefined,
    sends: 1,
    ageSec: 1,
    ...given,
  };
}

const isOver = ({ status }: ClaimedTx): boolean => status === 'dead' || status === 'dropped';

/** Counts dead and dropped transactions as the database does. */
function talliesOf(txs: readonly ClaimedTx[]): Tally[] {
  return (['delegate', 'reclaim', 'activate'] as const).flatMap((purpose) => {
    const over = txs.filter((each) => each.purpose === purpose && isOver(each));
    if (over.length === 0) return [];
    const attempts = Math.max(...over.map(({ attempt }) => attempt));
    const deaths = over.filter(({ status, sends }) => status === 'dead' && sends > 0).length;
    return [{ purpose, attempts, deaths, recent: over.length, lastAgeSec: 1 }];
  });
}

export function leg(
  status: ClaimedLeg['status'],
  txs: readonly TxGiven[] = [],
  given: Partial<ClaimedLeg> = {},
): ClaimedLeg {
  made += 1n;
  const all = txs.map(tx);
  return {
    id: made,
    legNo: 1,
    kind: 'rental',
    walletId: 1,
    walletAddress: 'T1',
    permissionId: 2,
    keyAddress: 'T2',
    canDeliver: true,
    isTopUp: false,
    topUpCause: undefined,
    signFailures: 0,
    amountSun: sun(5_000_000),
    energy: status === 'active' ? energy(50_000) : undefined,
    bandwidth: undefined,
    status,
    isClosed: false,
    ageSec: 1,
    txs: all.filter((each) => !isOver(each)),
    tallies: talliesOf(all),
    ...given,
  };
}

export function order(
  status: ClaimedOrder['status'],
  legs: readonly ClaimedLeg[],
  given: Partial<ClaimedOrder> = {},
): ClaimedOrder {
  return {
    id: 1n,
    projectId: 'p',
    kind: 'rental',
    status,
    receiver: 'T3',
    energy: energy(50_000),
    bandwidth: undefined,
    credits: 10n,
    isSettled: false,
    isUndoing: false,
    needsAttention: false,
    endsAtMs: undefined,
    ageSec: 1,
    fence: 1,
    dueAt: null,
    requestId: undefined,
    legs: given.kind === 'activation' ? legs.map((each) => ({ ...each, kind: 'activation' })) : legs,
    usage: undefined,
    ...given,
  };
}

/** A plan as text: `build delegate#1`, `send`, `find`, `release`, `topUp`, `undo`, `refund`. */
function steps(plan: Plan): string[] {
  return [
    ...plan.build.map((step) => `build ${step.purpose}#${step.attempt.toString()}`),
    ...plan.send.map((step) => `send ${step.tx.purpose}`),
    ...plan.find.map((step) => `find ${step.tx.purpose}`),
    ...plan.move.map(() => 'move'),
    ...plan.release.map(() => 'release'),
    ...(plan.topUp ? ['topUp'] : []),
    ...(plan.undo ? ['undo'] : []),
    ...(plan.refund ? ['refund'] : []),
  ];
}

export const plan = (given: ClaimedOrder, headMs = BEFORE) => steps(planFor(given, headMs, UNSENT_MAX_SEC));

export const dead = (attempt = 1, purpose: ClaimedTx['purpose'] = 'delegate'): TxGiven => ({
  status: 'dead',
  attempt,
  purpose,
});
export const solid: TxGiven = { status: 'solid' };
export const reclaim = (status: ClaimedTx['status'], attempt = 1): TxGiven => ({ status, attempt, purpose: 'reclaim' });
export const old = { ageSec: UNSENT_MAX_SEC + 1 };
