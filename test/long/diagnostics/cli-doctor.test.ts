// The doctor on an intact service, and on the same service with one thing broken at a time.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../../../packages/local/src/redis.js';
import { addressOf, keyOf, startOperatorChain, type OperatorChain } from '../../support/chain/operator-chain.js';
import { cliWith, settings } from '../../support/cli.js';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const POOL_OPERATIONS = `0000000000000006${'0'.repeat(48)}`;
const WITH_TRANSFER = `0200000000000006${'0'.repeat(48)}`;
const HOT = addressOf('hot');
const POOL = addressOf('pool');
const NOBODY = 'http://127.0.0.1:1';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly says: string;
  readonly todo?: string;
}

let database: TestDatabase;
let redis: TestRedis;
let chain: OperatorChain;
let otherChain: OperatorChain;
let stillChain: OperatorChain;
let env: Record<string, string>;
let folder: string;

beforeAll(async () => {
  [database, redis, folder] = await Promise.all([
    createTestDatabase(),
    createTestRedis(),
    mkdtemp(join(tmpdir(), 'cli-doctor-')),
  ]);
  [chain, otherChain, stillChain] = await Promise.all([
    startOperatorChain(['pool', 'activator'], { blockMs: 150 }),
    startOperatorChain(['other'], { blockMs: 150, seed: 'another chain' }),
    startOperatorChain(['pool'], { blockMs: 0 }),
  ]);
  env = settings(database.url, { ...chain.env, REDIS_URL: redis.url });
  await chain.stake('pool', 5000);
  await chain.permit('pool', [{ name: 'mine', operations: POOL_OPERATIONS, key: HOT }]);
  await chain.permit('activator', [{ name: 'mine', operations: `01${'0'.repeat(62)}`, key: HOT }]);
  await writeFile(join(folder, 'hot.key'), keyOf('hot').toString('hex'), { mode: 0o600 });
  const cli = cliWith(env);
  for (const [role, name] of [
    ['pool', 'pool'],
    ['activation', 'activator'],
  ] as const) {
    const args = ['--role', role, '--address', addressOf(name), '--permission-id', '2'];
    expect((await cli('pool', 'add', ...args, '--key-file', join(folder, 'hot.key'))).err).toBe('');
  }
  expect((await cli('project', 'create', '--name', 'Shop')).code).toBe(0);
});

afterAll(async () => {
  await Promise.all([chain.stop(), otherChain.stop(), stillChain.stop()]);
  await redis.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

// Renews the wallets' reading time as a worker would: none runs here, and a slow machine may take long between tests.
beforeEach(() => sql(`UPDATE pool_wallet SET read_at = now() WHERE read_at IS NOT NULL`));

async function examine(
  broken: Record<string, string | undefined> = {},
): Promise<{ code: number; findings: Finding[] }> {
  const changed = Object.entries({ ...env, ...broken }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const result = await cliWith(Object.fromEntries(changed))('doctor', '--json', '--patience', '2');
  const { ok, findings } = result.json() as { ok: boolean; findings: Finding[] };
  expect(ok).toBe(result.code === 0);
  return { code: result.code, findings };
}

/** Runs the doctor as a separate process with a shifted wall clock. */
async function examineWithClock(shiftMs: number): Promise<Finding[]> {
  const clock = new URL('../../programmes/chaos/clock-shift.mjs', import.meta.url).href;
  const args = [`--import=${clock}`, 'dist/bundle/main.cli.js', 'doctor', '--json', '--patience', '2'];
  const shifted = { ...env, PATH: process.env['PATH'], CHAOS_CLOCK_SHIFT_MS: shiftMs.toString() };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: shifted, timeout: 40_000 });
  return (JSON.parse(stdout) as { findings: Finding[] }).findings;
}

async function sql(text: string, params: unknown[] = []): Promise<void> {
  await asAdmin(database.url, (client) => client.query(text, params));
}

it('a sound service has no fault, and each risk that it runs is a warning', async () => {
  const { code, findings } = await examine();
  expect(findings.filter(({ state }) => state === 'fault')).toEqual([]);
  expect(code).toBe(0);
  const warned = findings.filter(({ state }) => state === 'warning');
  expect(warned.map(({ check }) => check)).toEqual(expect.arrayContaining(['quorum', 'rates']));
  for (const { todo } of warned) expect(todo).toMatch(/\w/);
  for (const check of ['database', 'migrations', 'redis', 'token', 'master key', `wallet ${POOL}`, 'worker']) {
    expect(findings).toContainEqual(expect.objectContaining({ check, state: 'ok' }));
  }
});

it('people read marks, sentences and what to do', async () => {
  const { code, out, err } = await cliWith({ ...env, REDIS_URL: 'redis://127.0.0.1:1' })('doctor', '--patience', '2');
  expect([code, err]).toEqual([1, '1 fault.\n']);
  expect(out).toMatch(/^✓ database +Postgres \d/m);
  expect(out).toMatch(/^! quorum/m);
  expect(out).toMatch(/^✗ redis +[^→]*\n +→ Start Redis/m);
  expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

describe('one broken thing is the one reported fault, with what to do', () => {
  const withSettings: [string, () => Record<string, string | undefined>, RegExp, RegExp][] = [
    ['a setting is missing', () => ({ MASTER_KEY: undefined }), /^settings$/, /MASTER_KEY is required/],
    [
      'Postgres is away',
      () => ({ DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' }),
      /^database$/,
      /is unreachable \(.*ECONNREFUSED/,
    ],
    ['the password is wrong', () => ({ DATABASE_URL: withPassword('wrong') }), /^database$/, /refuses the password/],
    ['Redis is away', () => ({ REDIS_URL: 'redis://127.0.0.1:1' }), /^redis$/, /refuses the connection/],
    [
      'Redis has no database of that number',
      () => ({ REDIS_URL: new URL('/9999', redis.url).href }),
      /^redis$/,
      /index is out of range/,
    ],
    ['no node answers', () => ({ TRON_FULL_NODE_URLS: NOBODY }), /^node /, /no usable answer/],
    ['no solidity port answers', () => ({ TRON_SOLIDITY_NODE_URLS: NOBODY }), /^solidity /, /no usable answer/],
    [
      'the solidity port is another chain’s',
      () => ({ TRON_SOLIDITY_NODE_URLS: otherChain.solid }),
      /^solidity /,
      /another chain/,
    ],
    ['two nodes are of different chains', () => both('full', 'solid'), /^nodes$/, /different chains/],
    ['the token is not there', () => ({ TOKEN_CONTRACT: addressOf('nobody') }), /^token$/, /no contract/],
    ['the token is no address', () => ({ TOKEN_CONTRACT: 'USDT' }), /^settings$/, /TOKEN_CONTRACT must be a TRON/],
    ['the token is no contract', () => ({ TOKEN_CONTRACT: POOL }), /^token$/, /no contract/],
    [
      'no exchange answers',
      () => ({ RATE_SOURCES: 'binance', RATE_SOURCE_URLS: `binance=${NOBODY}` }),
      /^rates$/,
      /0 of 1/,
    ],
    ['an exchange is unknown', () => ({ RATE_SOURCES: 'mybank' }), /^rates$/, /mybank/],
    [
      'the address is an unknown exchange’s',
      () => ({ RATE_SOURCES: 'binance', RATE_SOURCE_URLS: `binanse=${NOBODY}` }),
      /^rates$/,
      /unknown: binanse/,
    ],
    ['the signer is away', () => ({ SIGNER_SOCKET: join(folder, 'none.sock') }), /^signer$/, /cannot be reached/],
  ];

  function both(...names: ('full' | 'solid')[]): Record<string, string> {
    const [full, solid] = names.map((name) => `${chain[name]},${otherChain[name]}`);
    return { TRON_FULL_NODE_URLS: full!, TRON_SOLIDITY_NODE_URLS: solid! };
  }

  function withPassword(password: string): string {
    const url = new URL(database.url);
    url.password = password;
    return url.href;
  }

  it.each(withSettings)('%s', async (_what, broken, check, says) => {
    const { code, findings } = await examine(broken());
    const faults = findings.filter(({ state }) => state === 'fault');
    expect(code).toBe(1);
    expect(faults).toEqual([
      {
        check: expect.stringMatching(check),
        state: 'fault',
        says: expect.stringMatching(says),
        todo: expect.stringMatching(/\w{4}/),
      },
    ]);
  });

  it('what is sold by is too old before it is read again', async () => {
    const { findings } = await examine({ MARKET_REFRESH_SEC: '60', RATE_REFRESH_SEC: '299' });
    expect(findings.filter(({ check }) => check === 'intervals')).toEqual([
      {
        check: 'intervals',
        state: 'warning',
        says: 'Between two readings, nothing is sold.',
        todo: 'Set MARKET_REFRESH_SEC to less than MARKET_MAX_AGE_SEC.',
      },
    ]);
  });

  it('the default duration cannot be sold', async () => {
    const price = async (sunPerEnergy: number) =>
      asAdmin(database.url, (client) =>
        client.query('UPDATE price_row SET sun_per_energy = $1 WHERE duration_max_sec = 3600', [sunPerEnergy]),
      );
    await price(100);
    try {
      const { code, findings } = await examine({});
      expect(code).toBe(1);
      expect(findings.filter(({ state }) => state === 'fault')).toEqual([
        {
          check: 'prices',
          state: 'fault',
          says: expect.stringContaining('1 h cost 100 sun per energy, burning costs 100'),
          todo: expect.stringContaining('price set'),
        },
      ]);
    } finally {
      await price(45);
    }
  });

  it('bandwidth has a price that is not worth it, and no wallet has stake for it', async () => {
    const price = async (sunPerBandwidth: number | null) =>
      asAdmin(database.url, (client) =>
        client.query('UPDATE price_row SET sun_per_bandwidth = $1 WHERE duration_max_sec = 3600', [sunPerBandwidth]),
      );
    await price(1000);
    try {
      const { findings } = await examine({});
      expect(findings).toContainEqual({
        check: 'prices',
        state: 'warning',
        says: expect.stringContaining('3600 s at 1000 sun per bandwidth is not below'),
        todo: expect.stringContaining('price set-bandwidth'),
      });
      expect(findings).toContainEqual({
        check: 'bandwidth',
        state: 'warning',
        says: expect.stringContaining('no wallet can sell any'),
        todo: expect.stringContaining('POOL_BANDWIDTH_KEPT'),
      });
    } finally {
      await price(null);
    }
    expect((await examine({})).findings.filter(({ check }) => check === 'bandwidth')).toEqual([]);
  });

  it('a head stands still', async () => {
    const { findings } = await examine({ ...stillChain.env, TOKEN_CONTRACT: stillChain.token });
    expect(findings).toContainEqual(
      expect.objectContaining({ state: 'fault', says: expect.stringContaining('is stuck') }),
    );
  });

  it('the master key is another one', async () => {
    const { findings } = await examine({ MASTER_KEY: randomBytes(32).toString('base64') });
    const faults = findings.filter(({ state }) => state === 'fault');
    expect(faults.map(({ check }) => check)).toEqual(['master key']);
    const rotating = { MASTER_KEY: randomBytes(32).toString('base64'), MASTER_KEY_PREVIOUS: env['MASTER_KEY'] };
    const during = (await examine(rotating)).findings.filter(({ check }) => check === 'master key');
    expect(during.map(({ state, todo }) => [state, todo])).toEqual([
      ['warning', expect.stringContaining('keys rewrap')],
      ['warning', expect.stringContaining('keys rewrap')],
      // There is no webhook secret and no second factor.
      ['ok', undefined],
      ['ok', undefined],
      ['warning', expect.stringContaining('migrate')],
    ]);
  });

  it.each([
    ['the embedded one', 'embedded'],
    ['the one of this machine, if there is one', undefined],
  ])('Redis evicts keys: %s', async (_which, redisUrl) => {
    const server = await startRedis({ redisUrl });
    const client = new Redis(server.url);
    try {
      await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
      const { code, findings } = await examine({ REDIS_URL: server.url });
      expect(code).toBe(1);
      expect(findings.filter(({ state }) => state === 'fault')).toEqual([
        {
          check: 'redis eviction',
          state: 'fault',
          says: 'Redis evicts keys (allkeys-lru).',
          todo: expect.stringContaining('noeviction'),
        },
      ]);
    } finally {
      client.disconnect();
      await server.stop();
    }
  });

  it.each([
    ['behind', -3_600_000, /ahead of this machine's clock/],
    ['ahead', 7_200_000, /s old by this machine's clock/],
  ])('this machine’s clock is %s', async (_how, shiftMs, ofTheHead) => {
    // The chain's clock may differ from ours by minutes. The database's clock is this machine's.
    const findings = await examineWithClock(shiftMs);
    const apart = `differ by ${(Math.abs(shiftMs) / 1000).toFixed(0)}\\.\\d s`;
    expect(findings).toContainEqual({
      check: 'clock',
      state: 'warning',
      says: expect.stringMatching(apart),
      todo: expect.stringContaining('NTP'),
    });
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: expect.stringMatching(/^node /),
        state: 'warning',
        says: expect.stringMatching(ofTheHead),
        todo: expect.stringContaining('clock'),
      }),
    );
  });

  it('the database was never migrated', async () => {
    const name = `${fromSetup('TEST_DATABASE_PREFIX')}_doctor`;
    const adminUrl = fromSetup('TEST_DATABASE_URL');
    await asAdmin(adminUrl, (client) => client.query(`CREATE DATABASE ${name}`));
    try {
      const { findings } = await examine({ DATABASE_URL: databaseUrl(adminUrl, name) });
      expect(findings.filter(({ state }) => state === 'fault')).toEqual([
        expect.objectContaining({ check: 'migrations', todo: expect.stringContaining('migrate') }),
      ]);
    } finally {
      await asAdmin(adminUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    }
  });

  it('there is nothing to sell', async () => {
    const empty = await createTestDatabase();
    try {
      const { findings } = await examine({ DATABASE_URL: empty.url });
      expect(findings.filter(({ state }) => state === 'fault')).toEqual([
        expect.objectContaining({ check: 'pool', todo: expect.stringContaining('pool permissions') }),
      ]);
    } finally {
      await empty.drop();
    }
  });

  const withSql: [string, string, string, string, RegExp][] = [
    [
      'a price is not below the burn price',
      `UPDATE price_row SET sun_per_energy = 100 WHERE duration_max_sec = 3600`,
      `UPDATE price_row SET sun_per_energy = 45 WHERE duration_max_sec = 3600`,
      'prices',
      /cost 100 sun/,
    ],
    [
      'nobody looks after the pool',
      `UPDATE pool_wallet SET read_at = now() - interval '1 hour'`,
      `UPDATE pool_wallet SET read_at = now()`,
      'worker',
      /No worker has read/,
    ],
    [
      'a key is with a signer and none is named',
      `UPDATE pool_wallet SET key_sealed = NULL WHERE role = 'activation'`,
      `UPDATE pool_wallet SET status = 'active'`,
      'signer',
      /no signer is configured/,
    ],
  ];

  it.each(withSql)('%s', async (_what, damage, repair, check, says) => {
    await sql(damage);
    try {
      const { code, findings } = await examine();
      expect(code).toBe(1);
      expect(findings.filter(({ state }) => state === 'fault')).toEqual([
        expect.objectContaining({ check, says: expect.stringMatching(says) }),
      ]);
    } finally {
      await sql(repair);
    }
  });

  it.each([
    ['may do more than its work', [{ name: 'mine', operations: WITH_TRANSFER, key: HOT }], /also allows Transfer/],
    ['may no longer do anything', [{ name: 'mine', operations: POOL_OPERATIONS, key: POOL }], /does not name the key/],
  ])('the key of a wallet %s', async (_what, actives, says) => {
    await chain.permit('pool', actives);
    const { findings } = await examine({ SIGNER_SOCKET: undefined });
    expect(findings).toContainEqual({
      check: `wallet ${POOL}`,
      state: 'fault',
      says: expect.stringMatching(says),
      todo: expect.stringContaining('pool permissions'),
    });
  });
});
