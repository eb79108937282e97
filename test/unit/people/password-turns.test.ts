// The order of password computations when many wait, and leaving the queue.
import { networkOf } from '../../../src/platform/http/pipeline/source-address.js';
import { PasswordQueue, type PasswordSlot } from '../../../src/modules/people/password-queue.js';

/** Resolves once all current work waits for something else. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Turns whose work ends on the test's command. */
function newHarness() {
  const turns = new PasswordQueue();
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (queue: PasswordSlot['queue'], key: string, signal?: AbortSignal): Promise<unknown> =>
    turns
      .run({ queue, key, signal }, async () => {
        order.push(key);
        await new Promise<void>((resolve) => ends.push(resolve));
      })
      .catch((error: unknown) => (error as { code?: string; name: string }).code ?? (error as Error).name);
  /** Ends the oldest work and waits until its turn has passed on. */
  const end = async (): Promise<void> => {
    await settled();
    ends.shift()?.();
    await settled();
  };
  return { order, ask, end };
}

const many = (count: number, ask: (index: number) => Promise<unknown>) =>
  Array.from({ length: count }, (_, i) => ask(i));

it('a known browser waits for one password at most, however many unknown ones wait', async () => {
  const { order, ask, end } = newHarness();
  void many(30, (index) => ask('unknown', `network ${index.toString()}`));
  void ask('known', 'person');
  await end();
  expect(order.slice(2)).toEqual(['person']);
});

it('a full queue of unknown browsers rejects no known one', async () => {
  const { ask } = newHarness();
  const unknown = many(40, (index) => ask('unknown', `network ${index.toString()}`));
  expect(await unknown[39]).toBe('SERVICE_UNAVAILABLE');
  const answer = await Promise.race([ask('known', 'person'), settled().then(() => 'waits')]);
  expect(answer).toBe('waits');
});

it('unknown browsers get every fourth turn while known ones keep coming', async () => {
  const { order, ask, end } = newHarness();
  void many(2, () => ask('known', 'first'));
  void many(2, (index) => ask('unknown', `unknown ${index.toString()}`));
  void many(8, (index) => ask('known', `known ${index.toString()}`));
  for (let turn = 0; turn < 8; turn += 1) await end();
  const turns = order.slice(2).map((key) => key.startsWith('unknown'));
  expect(turns).toEqual([false, false, false, true, false, false, false, true]);
});

it('limits the places of one network, and leaves the others to the rest', async () => {
  const { ask } = newHarness();
  const one = many(8, () => ask('unknown', 'one'));
  expect(await one[7]).toBe('SERVICE_UNAVAILABLE');
  expect(await Promise.race([ask('unknown', 'other'), settled().then(() => 'waits')])).toBe('waits');
});

it('a caller who disconnects leaves the queue', async () => {
  const { order, ask, end } = newHarness();
  const gone = new AbortController();
  void many(2, () => ask('unknown', 'working'));
  const left = many(4, () => ask('unknown', 'one', gone.signal));
  gone.abort();
  expect(await Promise.all(left)).toEqual(['ClientGoneError', 'ClientGoneError', 'ClientGoneError', 'ClientGoneError']);
  void ask('unknown', 'one');
  await end();
  expect(order).toEqual(['working', 'working', 'one']);
  expect(await ask('unknown', 'one', gone.signal)).toBe('ClientGoneError');
});

it.each([
  ['2001:db8:1:2ff::1', '2001:db8:1', '2001:db8:1:02', '2001:db8:1:2ff'],
  ['2001:db8::1', '2001:db8:0', '2001:db8:0:00', '2001:db8:0:0'],
  ['2001:db8:1:abcd:5::', '2001:db8:1', '2001:db8:1:ab', '2001:db8:1:abcd'],
  ['192.0.2.9', '192.0.2.9', '192.0.2.9', '192.0.2.9'],
])('%s belongs to its /48, /56 and /64', (address, of48, of56, of64) => {
  expect([networkOf(address, 48), networkOf(address, 56), networkOf(address)]).toEqual([of48, of56, of64]);
});
