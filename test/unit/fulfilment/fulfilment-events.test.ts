// The worker's events: a log line and a count for each change, few label values, and every early reclaim reported.
import { FulfilmentEvents, type OrderIdentity } from '../../../src/modules/fulfilment/fulfilment-events.js';
import { createLogger } from '../../../src/platform/observability/logger.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';

const order: OrderIdentity = { id: 7n, projectId: 'project', requestId: 'request' };
const identity = { orderId: '7', projectId: 'project', requestId: 'request' };

function openProgress() {
  const lines: Record<string, unknown>[] = [];
  const metrics = new Metrics();
  const destination = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) };
  const progress = new FulfilmentEvents(metrics, createLogger({ logLevel: 'info' }, destination));
  const sample = async (name: string, labels: Record<string, string> = {}) => {
    const found = await metrics.registry.getSingleMetric(name)!.get();
    return (
      found.values.find(({ labels: has }) => Object.entries(labels).every(([k, v]) => String(has[k]) === v))?.value ?? 0
    );
  };
  return { progress, lines, sample };
}

test('logs and counts a proof of death with its transaction', async () => {
  const { progress, lines, sample } = openProgress();
  progress.reportTransactions('dead', [{ order, txid: 'aa', purpose: 'delegate', attempt: 2 }]);
  expect(lines).toMatchObject([{ ...identity, msg: 'transaction dead', txid: 'aa', purpose: 'delegate', attempt: 2 }]);
  expect(await sample('chain_transactions_total', { to: 'dead', purpose: 'delegate' })).toBe(1);
});

test('makes no label of an answer that no node should give', async () => {
  const { progress, sample } = openProgress();
  const answer = (code: string) => ({ txId: 1n, node: 'n', answer: code, message: undefined, isSent: true });
  progress.countAnswers([answer('SERVER_BUSY'), answer('x'.repeat(60)), answer('<html>')]);
  expect(await sample('broadcast_answers_total', { node: 'n', code: 'SERVER_BUSY' })).toBe(1);
  expect(await sample('broadcast_answers_total', { node: 'n', code: 'ANOTHER' })).toBe(2);
});

test('logs an early reclaim as an error, and counts it', async () => {
  const { progress, lines, sample } = openProgress();
  progress.reportReclaimed(order, 3);
  expect(await sample('early_reclaims_total')).toBe(0);
  progress.reportReclaimed(order, -1);
  expect(await sample('early_reclaims_total')).toBe(1);
  expect(lines).toMatchObject([
    { level: 'info', msg: 'order reclaimed', lateSec: 3 },
    { level: 'error', msg: 'order reclaimed early', lateSec: -1 },
  ]);
});

test('logs late writes and failed signatures without the order’s secrets', async () => {
  const { progress, lines, sample } = openProgress();
  progress.reportFenceLost('send', 0);
  progress.reportFenceLost('send', 2);
  progress.reportSignFailure(order, 'Twallet', new Error('no key'));
  expect(await sample('fence_lost_total', { step: 'send' })).toBe(2);
  expect(await sample('sign_failures_total')).toBe(1);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'orders taken over or locked elsewhere',
    'failed to sign a transaction',
  ]);
});

test('logs an unresolved order as a warning, and measures times to an end', async () => {
  const { progress, lines, sample } = openProgress();
  progress.reportOrders('unresolved', [{ order, kind: 'rental' }]);
  progress.reportOrders('refunded', [{ order, kind: 'rental', ageSec: 100 }]);
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'order unresolved'],
    ['info', 'order refunded'],
  ]);
  expect(await sample('order_changes_total', { to: 'refunded' })).toBe(1);
  expect(await sample('order_seconds', { to: 'refunded', le: '90' })).toBe(0);
  expect(await sample('order_seconds', { to: 'refunded', le: '120' })).toBe(1);
});
