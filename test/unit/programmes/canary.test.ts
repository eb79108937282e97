import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedProcess } from '../../../packages/local/src/guard.js';
import { keepChildren, keepSaid, keepShown, noteKeysOf, noteSecret, searchIn } from '../../setup/canary.js';

const key = randomBytes(24).toString('hex');
const pool = randomBytes(32);
const master = randomBytes(32);
const outer = process.env['TEST_CANARY_DIR'];
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'energy-canary-test-'));
  process.env['TEST_CANARY_DIR'] = dir;
  noteSecret('API key', key);
  noteSecret('pool key', pool);
  noteKeysOf({ MASTER_KEY: master.toString('base64'), MASTER_KEY_PREVIOUS: 'not one' });
});

afterEach(async () => {
  if (outer === undefined) delete process.env['TEST_CANARY_DIR'];
  else process.env['TEST_CANARY_DIR'] = outer;
  await rm(dir, { recursive: true });
});

const finds = async (text: string): Promise<string[]> => {
  keepSaid('log of the API', text);
  return (await searchIn(dir)).finds;
};

test.each([
  ['as it is', `{"key":"${key}"}`, 'API key'],
  ['within a longer word', `x${key}y`, 'API key'],
  ['in base64', Buffer.from(key).toString('base64'), 'API key'],
  ['in hex', pool.toString('hex'), 'pool key'],
  ['as configured', master.toString('base64'), 'master key'],
  ['in the alphabet of URLs', master.toString('base64url'), 'master key'],
  ['across the boundary of two reads', `${'x'.repeat((1 << 20) - 20)} ${key}`, 'API key'],
])('finds a secret %s', async (_how, text, kind) => {
  expect(await finds(text)).toEqual([`${kind} in the log of the API`]);
});

test('finds a webhook secret in every form, except in the answer that shows it once', async () => {
  const bytes = randomBytes(32);
  const secret = `whsec_${bytes.toString('base64')}`;
  keepShown('answers', `{"id":"1","secret":"${secret}","url":"https://example.com"}`);
  expect((await searchIn(dir)).finds).toEqual([]);
  keepSaid('log of the API', JSON.stringify({ secret }));
  keepSaid('log of the sender', bytes.toString('hex'));
  keepSaid('table event', bytes.toString('base64'));
  const places = ['log of the API', 'log of the sender', 'table event'];
  expect((await searchIn(dir)).finds).toEqual(places.map((place) => `webhook secret in the ${place}`));
});

test('also searches the input that a process is started with', async () => {
  keepChildren();
  const args = [pool.toString('hex')];
  const child = await GuardedProcess.start({ name: 'argued', command: ':', args, env: {}, abandonSignal: 'KILL' });
  await child.stop('SIGKILL', 0);
  expect((await searchIn(dir)).finds).toEqual(['pool key in the arguments of argued']);
});

test('reports a find without the secret, and ignores lookalikes', async () => {
  expect((await finds(key)).join()).not.toContain(key);
});

test('ignores a text that only resembles a secret', async () => {
  expect(
    await finds(`${key.slice(0, -1)} ${pool.toString('hex').toUpperCase()} ${randomBytes(99).toString('hex')}`),
  ).toEqual([]);
  expect((await searchIn(dir)).summary).toBe('canary: 1 API keys, 1 master keys, 1 pool keys looked for in 1 kB');
});
