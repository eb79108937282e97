// The demo's merchant server: accepted and refused requests, and counting an event once.
import { Webhook } from 'standardwebhooks';
import { DemoReceiver } from '../../../packages/local/src/demo-receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
let receiver: DemoReceiver;

beforeEach(async () => {
  receiver = await DemoReceiver.start('order.delivered');
});
afterEach(() => receiver.close());

async function send(id: string, type: string, secret = SECRET, sentAt = new Date()): Promise<number> {
  const body = JSON.stringify({ id, type, timestamp: new Date().toISOString(), data: {} });
  const response = await fetch(receiver.url, {
    method: 'POST',
    headers: {
      'webhook-id': id,
      'webhook-timestamp': Math.floor(sentAt.getTime() / 1000).toString(),
      'webhook-signature': new Webhook(secret).sign(id, sentAt, body),
    },
    body,
  });
  return response.status;
}

it('accepts signed and recent events once, and refuses one kind the first time', async () => {
  const early = send('evt_1', 'order.created');
  receiver.knows(SECRET);
  expect(await early).toBe(204);
  expect(await send('evt_1', 'order.created')).toBe(204);
  expect(await send('evt_2', 'order.delivered')).toBe(503);
  expect(await send('evt_2', 'order.delivered')).toBe(204);
  expect(await send('evt_3', 'order.ended', `whsec_${Buffer.alloc(32, 1).toString('base64')}`)).toBe(400);
  expect(await send('evt_3', 'order.ended', SECRET, new Date(Date.now() - 400_000))).toBe(400);
  expect(receiver.arrivals.map(({ id, status, againAfterMs }) => [id, status, againAfterMs !== undefined])).toEqual([
    ['evt_1', 204, false],
    ['evt_2', 503, false],
    ['evt_2', 204, true],
  ]);
});
