// Accepted and refused values of each kind of setting, with the operator's messages.
import { ConfigError, readConfig } from '../../../src/platform/config/config.js';
import { settings } from '../../support/cli.js';

const read = (more: Record<string, string | undefined>) =>
  readConfig(settings('postgres://127.0.0.1/x', more as never));

function faultsOf(more: Record<string, string>): readonly string[] {
  try {
    read(more);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

const NODES = { TRON_FULL_NODE_URLS: 'http://a/,https://b', TRON_SOLIDITY_NODE_URLS: 'http://a,https://b//' };

it.each([
  ['PORT', ['x', '-1', '65536', '1.5', '1e3'], 'must be an integer from 0 to 65535'],
  ['WEBHOOK_ALLOW_HTTP', ['yes', '2'], 'must be true or false'],
  ['LOG_LEVEL', ['loud', 'INFO'], 'must be one of fatal, error, warn, info, debug, trace, silent'],
  ['TRUSTED_PROXIES', ['10.0.0.0/99', 'here, 10.0.0.1'], 'must be IP addresses or CIDR ranges'],
  ['WEBHOOK_PORTS', ['0', '443,x', '65536', ','], 'must be ports from 1 to 65535'],
  ['DATABASE_URL', ['http://a', 'postgres://a,b:port'], 'must be URLs starting with postgres: or postgresql:'],
  [
    'TOKEN_CONTRACT',
    ['abc', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u', '0x41a614f803b6fd780986a42c78ec9c7f77e6ded13c'],
    'must be a TRON address, such as TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  ],
  ['SIZING_HOLDER', ['abc', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t, abc'], 'must be TRON addresses'],
  ['TRON_FULL_NODE_URLS', ['ftp://a', 'a'], 'must be URLs starting with http: or https:'],
  [
    'RATE_SOURCE_URLS',
    ['okx', '=http://a', 'okx=ftp://a'],
    'must be name=URL pairs, with URLs starting with http: or https:',
  ],
  ['ENERGY_FEE_BOUNDS_SUN', ['1', '2-1', '0-1', '1-1000001'], 'must be two integers from 1 to 1000000 as MIN-MAX'],
  [
    'FALLBACK_TRX_USD',
    ['0', '-1', 'x', '0.123456789'],
    'must be a positive decimal with at most eight fraction digits',
  ],
  ['MASTER_KEY', ['short', 'c2hvcnQ='], 'must be 32 bytes in base64 (create one: openssl rand -base64 32)'],
])('rejects %s as %j, with one reason', (name, values, message) => {
  for (const value of values) expect(faultsOf({ [name]: value })).toEqual([`${name} ${message}`]);
});

it.each<readonly [string, Record<string, string>, string]>([
  ['sales', { ENERGY_MIN: '5000', ENERGY_MAX: '4999' }, 'ENERGY_MIN must not exceed ENERGY_MAX'],
  // Node refuses to make such a server.
  ['limits', { REQUEST_TIMEOUT_SEC: '5' }, 'HEADERS_TIMEOUT_SEC must not exceed REQUEST_TIMEOUT_SEC'],
  // Between two polls no node would count as moving.
  ['polls', { TRON_POLL_MS: '30001' }, 'TRON_POLL_MS must not exceed TRON_HEAD_STALL_SEC'],
])('rejects two %s that contradict each other', (_what, more, message) => {
  expect(faultsOf(more)).toEqual([message]);
});

it('accepts two settings at the limit of each other, and reports an invalid limit alone', () => {
  expect(
    faultsOf({ ENERGY_MIN: '5000', ENERGY_MAX: '5000', HEADERS_TIMEOUT_SEC: '15', TRON_POLL_MS: '30000' }),
  ).toEqual([]);
  expect(faultsOf({ ENERGY_MIN: '5000', ENERGY_MAX: 'x' })).toEqual([
    'ENERGY_MAX must be an integer from 1 to 100000000000',
  ]);
});

it('takes the number of a database as the only path of REDIS_URL', () => {
  const url = (path: string) => faultsOf({ REDIS_URL: `redis://127.0.0.1:6379${path}` });
  for (const path of ['', '/', '/0', '/15']) expect(url(path)).toEqual([]);
  for (const path of ['/cache', '/1x', '/0/1', '/-1'])
    expect(url(path)).toEqual(['REDIS_URL must have no path but the number of a database: redis://127.0.0.1:6379/0']);
});

it.each(['DATABASE_URL', 'REDIS_URL', 'TOKEN_CONTRACT', 'TRON_FULL_NODE_URLS', 'TRON_SOLIDITY_NODE_URLS'])(
  'requires %s, and a blank counts as missing',
  (name) => {
    for (const value of ['', '  ']) expect(faultsOf({ [name]: value })).toContain(`${name} is required`);
  },
);

it('names every invalid variable, in the order of the sections', () => {
  expect(faultsOf({ ADMIN_PORT: 'x', POOL_SYNC_SEC: '0', LOG_LEVEL: '', KEEP_ALIVE_SEC: '0' })).toEqual([
    'ADMIN_PORT must be an integer from 0 to 65535',
    'KEEP_ALIVE_SEC must be an integer from 1 to 3600',
    'POOL_SYNC_SEC must be an integer from 1 to 3600',
  ]);
});

it('settings by node: a single one is the first node’s, an empty place is none, any other count is rejected', () => {
  const one = read({ ...NODES, TRON_API_KEYS: 'key', TRON_REQUESTS_PER_SEC: '5' }).chain;
  expect([one.apiKeys, one.requestsPerSec]).toEqual([
    ['key', undefined],
    [5, 0],
  ]);
  expect(read({ ...NODES, TRON_API_KEYS: ', second' }).chain.apiKeys).toEqual([undefined, 'second']);
  expect(read(NODES).chain.requestsPerSec).toEqual([0, 0]);
  const wants = 'must be one value, or one for each URL of TRON_FULL_NODE_URLS, empty for none';
  expect(faultsOf({ ...NODES, TRON_API_KEYS: 'a,b,c' })).toEqual([`TRON_API_KEYS ${wants}`]);
  expect(faultsOf({ ...NODES, TRON_REQUESTS_PER_SEC: '1,many' })).toEqual([
    'TRON_REQUESTS_PER_SEC must be integers from 0 to 100000',
  ]);
  expect(faultsOf({ ...NODES, TRON_SOLIDITY_NODE_URLS: 'http://a' })).toEqual([
    'TRON_SOLIDITY_NODE_URLS must name as many nodes as TRON_FULL_NODE_URLS, in the same order',
  ]);
});

it('parses texts to their meaning', () => {
  const config = read({
    ...NODES,
    RATE_SOURCE_URLS: 'okx=http://a/b/',
    WEBHOOK_ALLOW_HTTP: 'TRUE',
    FALLBACK_TRX_USD: '0.5',
    RATE_SOURCES: '',
    ADMIN_PORT: '',
  });
  expect(config.chain.fullNodeUrls).toEqual(['http://a', 'https://b']);
  expect(config.chain.solidityNodeUrls).toEqual(['http://a', 'https://b']);
  expect([...config.rates.sourceUrls]).toEqual([['okx', 'http://a/b']]);
  expect(config.rates.fallback).toBe(50_000_000n);
  expect(config.rates.sources).toEqual(['binance', 'coinbase', 'kraken', 'okx']);
  expect([config.webhooks.allowHttp, config.webhooks.ports]).toEqual([true, [443, 8443]]);
  expect(config.market.parameterBounds.energyFeeSun).toEqual({ min: 10n, max: 1000n });
  expect(config.http.adminPort).toBeUndefined();
  expect(config.pool.allowWidePermission).toEqual([]);
});
