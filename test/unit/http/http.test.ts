import { BadSignatures } from '../../../src/modules/auth/bad-signatures.js';
import { readStrictJson } from '../../../src/platform/http/body/strict-json.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { ApiError, type FieldFault } from '../../../src/domain/errors.js';
import { Gauge } from 'prom-client';
import { monotonicMs } from '../../../src/platform/support/clock.js';
import { openAdmin } from '../../../src/platform/observability/admin.js';
import type { RequestContext } from '../../../src/platform/http/pipeline/request-context.js';
import { connectionLimits, connectionsFor, descriptorLimit } from '../../../src/platform/http/pipeline/connections.js';
import { RefusalLog } from '../../../src/platform/http/pipeline/refusal-log.js';
import { createLogger } from '../../../src/platform/observability/logger.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { readWait } from '../../../src/platform/http/pipeline/prefer.js';
import { RouteTable, type Route } from '../../../src/platform/http/pipeline/routes.js';
import { AddressList } from '../../../src/platform/http/pipeline/source-address.js';
import { IsFlag, IsInteger, IsText, Optional, membersOf } from '../../../src/platform/http/body/member-rules.js';
import { plainOf } from '../../../src/platform/http/body/plain-values.js';
import { RequestPipe } from '../../../src/platform/http/body/request.pipe.js';
import { send } from '../../support/api/client.js';
import { settings } from '../../support/cli.js';

class ExampleRequest {
  @IsText({
    maxLength: 5,
    check: (value) => (value === 'no' ? 'must not be no' : undefined),
    description: 'Its name.',
  })
  declare readonly name: string;

  @Optional()
  @IsInteger(() => ({ min: 0, max: Number.MAX_SAFE_INTEGER }), 'How many.')
  declare readonly count?: number;

  @Optional()
  @IsFlag('Whether it is on.')
  declare readonly is_on?: boolean;
}

class BoundedRequest {
  @IsInteger(({ sales }) => ({ min: 1000, max: sales.energyMax }), 'Energy.')
  declare readonly energy: number;
}

const LIMITS = { sales: readConfig(settings('postgres://127.0.0.1/x')).sales, sale: { longestSec: undefined } };
const pipe = new RequestPipe(LIMITS);

const read = async (body: string): Promise<unknown> =>
  pipe.transform(plainOf(readStrictJson(Buffer.from(body)).root), { type: 'body', metatype: ExampleRequest });

async function faultsOf(body: string): Promise<readonly FieldFault[]> {
  try {
    await read(body);
    return [];
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'INVALID_REQUEST')) throw error;
    return error.details ?? [];
  }
}

describe('a request body', () => {
  test('becomes its class, with undefined for null and nothing for absent members', async () => {
    const body = await read('{"name":"a","count":9007199254740991,"is_on":false}');
    expect(body).toBeInstanceOf(ExampleRequest);
    expect(body).toEqual({ name: 'a', count: Number.MAX_SAFE_INTEGER, is_on: false });
    expect(await read('{"name":"a","is_on":null}')).toStrictEqual(
      Object.assign(new ExampleRequest(), { name: 'a', is_on: undefined }),
    );
  });

  test.each([
    ['{"name":1}', 'name', 'must be a string'],
    ['{"name":""}', 'name', 'must not be empty'],
    ['{"name":"abcdef"}', 'name', 'must have at most 5 characters'],
    ['{"name":"no"}', 'name', 'must not be no'],
    ['{"name":null}', 'name', 'must not be null'],
    ['{"name":["a"]}', 'name', 'must be a string'],
    ['{}', 'name', 'is required'],
    ['{"name":"a","count":null}', 'count', 'must not be null'],
    ['{"name":"a","count":9007199254740992}', 'count', 'must be an integer from 0 to 9007199254740991'],
    ['{"name":"a","count":1e3}', 'count', 'must be an integer from 0 to 9007199254740991, written with digits only'],
    ['{"name":"a","count":-1}', 'count', 'must be an integer from 0 to 9007199254740991, written with digits only'],
    ['{"name":"a","count":"65000"}', 'count', 'must be an integer from 0 to 9007199254740991, without quotes'],
    ['{"name":"a","count":true}', 'count', 'must be an integer from 0 to 9007199254740991'],
    ['{"name":"a","is_on":"true"}', 'is_on', 'must be true or false'],
    ['{"name":"a","is_on":1}', 'is_on', 'must be true or false'],
    ['{"name":"a","Name":"b"}', 'Name', 'is not a member of this request'],
    ['{"name":"a","hasOwnProperty":null}', 'hasOwnProperty', 'is not a member of this request'],
    [`{"name":"a","${'b'.repeat(63)}😀":1}`, 'b'.repeat(63), 'is not a member of this request'],
  ])('refuses %s', async (body, field, msg) => {
    expect(await faultsOf(body)).toEqual([{ field, msg }]);
  });

  test('is checked against the limits of the application that received it', async () => {
    const bounds = { type: 'body', metatype: BoundedRequest } as const;
    const small = new RequestPipe({ ...LIMITS, sales: { ...LIMITS.sales, energyMax: 1000 } });
    expect(await pipe.transform({ energy: 1001 }, bounds)).toEqual({ energy: 1001 });
    await expect(small.transform({ energy: 1001 }, bounds)).rejects.toThrow(
      'energy must be an integer from 1000 to 1000.',
    );
    expect(await pipe.transform({ energy: 1001 }, bounds)).toEqual({ energy: 1001 });
  });

  test('describes its members to OpenAPI, in order', () => {
    expect([...membersOf(ExampleRequest, LIMITS)]).toEqual([
      [
        'name',
        {
          isOptional: false,
          isNullable: false,
          schema: { type: 'string', minLength: 1, maxLength: 5, description: 'Its name.' },
        },
      ],
      [
        'count',
        {
          isOptional: true,
          isNullable: false,
          schema: {
            type: 'integer',
            format: 'int64',
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'How many.',
          },
        },
      ],
      ['is_on', { isOptional: true, isNullable: true, schema: { type: 'boolean', description: 'Whether it is on.' } }],
    ]);
  });
});

describe('Prefer', () => {
  test.each([
    [['wait=10'], 10],
    [['respond-async, wait=10'], 10],
    [['respond-async', 'Wait = "7"; x=y'], 7],
    [['wait=5, wait=9'], 5],
    [['wait=99'], 30],
    [['wait=0'], 0],
    [['wait'], 0],
    [['wait=-1'], 0],
    [['wait=1.5'], 0],
    [['waiting=5'], 0],
    [[], 0],
  ])('%j waits %d s', (values, expected) => {
    expect(readWait({ rawHeaders: values.flatMap((value) => ['prefer', value]) })).toBe(expected);
  });
});

describe('an address list', () => {
  test('contains addresses and ranges of both families', () => {
    const list = new AddressList(['10.0.0.0/8', '192.168.1.7', '2001:db8::/32', '::1']);
    for (const inside of ['10.255.0.1', '192.168.1.7', '2001:db8:ffff::1', '::1']) expect(list.has(inside)).toBe(true);
    for (const outside of ['11.0.0.1', '192.168.1.8', '2001:db9::1', '::2', '', 'x', '10.0.0']) {
      expect(list.has(outside)).toBe(false);
    }
    expect(new AddressList([]).has('10.0.0.1')).toBe(false);
  });

  test.each(['', '10.0.0.0/33', '10.0.0/8', '::/129', 'example.com', '10.0.0.0/8/8', '10.0.0.0/-1', '10.0.0.0/'])(
    'refuses the entry %j',
    (entry) => {
      expect(() => new AddressList([entry])).toThrow(RangeError);
    },
  );
});

describe('the trusted proxies', () => {
  const configFor = (proxies: string) => readConfig(settings('postgres://127.0.0.1/x', { TRUSTED_PROXIES: proxies }));

  test('are validated with the other settings, and an error names the setting, never its value', () => {
    expect(configFor('127.0.0.1, 10.0.0.0/8,2001:db8::/32').http.trustedProxies).toHaveLength(3);
    for (const wrong of ['proxy.example', '10.0.0.0/33', '10.0.0.0/', '127.0.0.1,10.0.0.0/8/8']) {
      expect(() => configFor(wrong)).toThrow(/^(?!.*(proxy\.example|10\.0)).*TRUSTED_PROXIES must be IP addresses/);
    }
  });
});

describe('bad signatures', () => {
  test('are counted per IPv4 address and per IPv6 network', () => {
    const bad = new BadSignatures(2);
    expect([bad.count('10.0.0.1'), bad.count('10.0.0.1')]).toEqual([0, 0]);
    expect(bad.count('10.0.0.1')).toBeGreaterThan(0);
    expect(bad.blockedSec('10.0.0.1')).toBeLessThanOrEqual(60);
    expect(bad.blockedSec('10.0.0.2')).toBe(0);
    for (const address of ['2001:db8::1', '2001:DB8:0:0:ffff::', '2001:db8:0:0:1:2:3:4']) bad.count(address);
    expect(bad.blockedSec('2001:db8::9')).toBeGreaterThan(0);
    expect(bad.blockedSec('2001:db8:0:1::9')).toBe(0);
    expect(bad.blockedSec('::1')).toBe(0);
  });

  test('are remembered for a bounded number of sources', () => {
    const bad = new BadSignatures(0);
    for (let index = 0; index < 10_001; index += 1)
      bad.count(`10.${(index >> 8).toString()}.${(index & 255).toString()}.1`);
    expect(bad.blockedSec('10.0.0.1')).toBe(0);
    for (const kept of ['10.0.1.1', '10.39.16.1']) expect(bad.blockedSec(kept)).toBeGreaterThan(0);
  });
});

describe('the route table', () => {
  const route = (method: string, pattern: string): Route => ({
    method,
    pattern,
    budget: undefined,
    isPurchase: false,
    acceptsMd5: false,
    scope: 'read',
    mayBeEmpty: false,
    bodyLimitBytes: 1,
    isPublic: false,
    handler: () => undefined,
  });
  const table = new RouteTable();
  for (const each of [route('GET', '/a'), route('POST', '/a'), route('GET', '/a/:key'), route('DELETE', '/a/:key')]) {
    table.add(each);
  }

  test('finds a whole path and its methods', () => {
    expect([...(table.find('/a')?.keys() ?? [])]).toEqual(['GET', 'POST']);
    expect([...(table.find('/a/x%2Fy')?.keys() ?? [])]).toEqual(['GET', 'DELETE']);
    expect(table.list()).toHaveLength(4);
  });

  test.each(['', '/', '/A', '/a/', '/a/b/c', 'a', '//a', '/a/%', '/a/%e9', `/a${'/b'.repeat(5000)}`])(
    'knows no %s',
    (path) => {
      expect(table.find(path)).toBeUndefined();
    },
  );
});

describe('the log', () => {
  test('contains no secret of an error, a field or a connection string', () => {
    const lines: string[] = [];
    const log = createLogger({ logLevel: 'info' }, { write: (line) => lines.push(line) });
    const inner = Object.assign(new Error('connect redis://:hunter2@cache failed'), { code: 'ECONNREFUSED' });
    const err = Object.assign(new Error('query failed', { cause: inner }), {
      parameters: ['hunter2'],
      password: 'hunter2',
    });
    log.error(
      {
        err,
        apiKey: 'hunter2',
        nested: { signature: 'hunter2', list: [{ body: 'hunter2' }] },
        headers: { a: 'hunter2' },
      },
      'failed',
    );
    log.warn({ err: 'hunter2' }, 'a string was thrown');
    expect(lines.join('')).not.toContain('hunter2');
    expect(lines.join('')).toContain('redis://[redacted]@cache');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ nested: { list: [{ body: '[redacted]' }] } });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'error', err: { cause: { code: 'ECONNREFUSED' } } });
  });
});

describe('the log of refused requests', () => {
  const isPurchase = { route: { pattern: '/v1/orders', isPurchase: true }, caller: {} };
  const contextOf = (extra: object, errorCode?: string) =>
    ({ requestId: 'r', errorCode, ...extra }) as unknown as RequestContext;
  const open = () => {
    const lines: { msg: string; count?: number; codes?: Record<string, number> }[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]);
    const metrics = new Metrics();
    return { lines, metrics, refusals: new RefusalLog(createLogger({ logLevel: 'info' }, { write }), metrics, 10) };
  };

  test('suppresses a flood, and counts it by code', async () => {
    const { lines, metrics, refusals } = open();
    const codeOf = (index: number) => (index % 4 === 0 ? 'NOT_FOUND' : 'INVALID_SIGNATURE');
    const flood = Array.from({ length: 10_000 }, (_, index) => refusals.admits(contextOf({}, codeOf(index)), 401));
    const held = flood.filter((isAdmitted) => !isAdmitted).length;
    expect(held).toBeGreaterThan(5000);
    expect(held).toBeLessThanOrEqual(9900);
    expect(lines).toEqual([]);
    refusals.flush();
    refusals.flush();
    expect(lines).toHaveLength(1);
    const [{ count, codes, msg }] = lines as [(typeof lines)[0]];
    expect(msg).toBe('further refused requests not logged');
    expect(count).toBe(held);
    expect(codes!['NOT_FOUND']! + codes!['INVALID_SIGNATURE']!).toBe(held);
    expect(await metrics.registry.metrics()).toContain(`log_lines_suppressed_total ${held.toString()}`);
  });

  test.each([
    ['an answered request', {}, 200],
    ['a purchase', isPurchase, 202],
    ['a purchase of unknown outcome', isPurchase, 503],
    ['a purchase that failed', isPurchase, 500],
    ['a purchase whose caller went away', isPurchase, 499],
  ])('never suppresses %s, whatever else is refused', (_, extra, status) => {
    const { refusals } = open();
    for (let index = 0; index < 5000; index += 1) refusals.admits(contextOf({}, 'INVALID_SIGNATURE'), 401);
    for (let index = 0; index < 5000; index += 1) expect(refusals.admits(contextOf(extra), status)).toBe(true);
  });

  test.each([
    ['authenticated projects', contextOf(isPurchase, 'INSUFFICIENT_CREDITS'), 402],
    ['our own faults', contextOf({}, 'INTERNAL_ERROR'), 500],
  ])('unknown callers take no line from %s, and are bounded too', (_, known, status) => {
    const { refusals } = open();
    for (let index = 0; index < 5000; index += 1) refusals.admits(contextOf({}, 'INVALID_SIGNATURE'), 401);
    const admitted = Array.from({ length: 50_000 }, () => refusals.admits(known, status));
    expect(admitted.slice(0, 1000)).not.toContain(false);
    expect(admitted).toContain(false);
  });
});

describe('connections', () => {
  test.each([
    [1024, 896],
    [512, 384],
    [64, 48],
    [2, 1],
    [1_048_576, 1_048_448],
  ])('of %d descriptors, callers may use %d', (descriptors, connections) => {
    expect(connectionsFor(descriptors)).toBe(connections);
  });

  test.each([
    ['unset: half of all for one address', 0, 0, 1024, { all: 896, ofOne: 448 }],
    ['unset with plenty of descriptors: still bounded', 0, 0, 1_048_576, { all: 16_384, ofOne: 8192 }],
    ['unset without a known limit: still bounded', 0, 0, undefined, { all: 16_384, ofOne: 8192 }],
    ['set beyond the descriptors: what these leave', 5000, 4000, 1024, { all: 896, ofOne: 896 }],
    ['set: as set', 20_000, 100, 1_048_576, { all: 20_000, ofOne: 100 }],
    ['one in all: one for one address', 1, 0, 1024, { all: 1, ofOne: 1 }],
  ])('%s', (_, maxConnections, maxConnectionsPerAddress, descriptors, expected) => {
    const configured = { maxConnections, maxConnectionsPerAddress, trustedProxies: [] };
    expect(connectionLimits(configured, descriptors)).toEqual(expected);
  });

  test('a system without a limit of descriptors sets none', () => {
    expect(descriptorLimit('/nowhere')).toBeUndefined();
  });
});

describe('the admin port', () => {
  test('collects the metrics at most once a second for many pollers, and never from before a request', async () => {
    const metrics = new Metrics();
    let reads = 0;
    let asked = 0;
    new Gauge({
      name: 'asked',
      help: 'How often it was asked for before this was worked out.',
      registers: [metrics.registry],
      collect() {
        reads += 1;
        this.set(asked);
      },
    });
    const log = createLogger({ logLevel: 'silent' });
    const admin = await openAdmin({ host: '127.0.0.1', port: 0, metrics, checks: {}, log });
    try {
      const address = admin.address();
      const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0).toString() : ''}`;
      const begun = monotonicMs();
      const loops = Array.from({ length: 16 }, async () => {
        for (let round = 0; round < 3; round += 1) {
          asked += 1;
          const mine = asked;
          const { status, text } = await send(baseUrl, 'GET', '/metrics');
          expect(status).toBe(200);
          expect(Number(/^asked (\d+)/m.exec(text)?.[1])).toBeGreaterThanOrEqual(mine);
        }
      });
      for (let probe = 0; probe < 5; probe += 1) expect((await send(baseUrl, 'GET', '/live')).status).toBe(200);
      await Promise.all(loops);
      // Regardless of a slow machine.
      expect(reads).toBeLessThanOrEqual(1 + (monotonicMs() - begun) / 1000);
    } finally {
      admin.closeAllConnections();
      await new Promise((resolve) => admin.close(resolve));
    }
  });

  test('checks readiness at most ten times a second, and logs the problems in one line', async () => {
    const lines: string[] = [];
    let checks = 0;
    const failing = { database: () => Promise.reject(new Error(`away ${(checks += 1).toString()}`)) };
    const log = createLogger({ logLevel: 'info' }, { write: (line) => void lines.push(line) });
    const admin = await openAdmin({ host: '127.0.0.1', port: 0, metrics: new Metrics(), checks: failing, log });
    try {
      const address = admin.address();
      const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0).toString() : ''}`;
      const begun = monotonicMs();
      const loops = Array.from({ length: 16 }, async () => {
        for (let round = 0; round < 5; round += 1) expect((await send(baseUrl, 'GET', '/ready')).status).toBe(503);
      });
      await Promise.all(loops);
      expect(checks).toBeLessThanOrEqual(1 + (monotonicMs() - begun) / 100);
      expect(lines).toHaveLength(1);
    } finally {
      admin.closeAllConnections();
      await new Promise((resolve) => admin.close(resolve));
    }
  });

  test('distinguishes liveness from readiness, and serves the metrics', async () => {
    const parts = { good: () => Promise.resolve(), bad: () => Promise.resolve() };
    const metrics = new Metrics();
    metrics.answered({ method: 'GET', route: '/v1/balance', status: 200, error: '' }, 0.01);
    const log = createLogger({ logLevel: 'silent' });
    const admin = await openAdmin({ host: '127.0.0.1', port: 0, metrics, checks: parts, log });
    try {
      const address = admin.address();
      const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0).toString() : ''}`;
      expect(await send(baseUrl, 'GET', '/ready')).toMatchObject({ status: 200, body: { ready: true, failed: [] } });
      parts.bad = () => Promise.reject(new Error('away'));
      expect(await send(baseUrl, 'GET', '/ready')).toMatchObject({
        status: 503,
        body: { ready: false, failed: ['bad'], reasons: { bad: 'away' } },
      });
      parts.bad = () => new Promise(() => undefined);
      expect(await send(baseUrl, 'GET', '/ready')).toMatchObject({ status: 503 });
      expect((await send(baseUrl, 'GET', '/live')).status).toBe(200);
      expect((await send(baseUrl, 'POST', '/live')).status).toBe(404);
      expect((await send(baseUrl, 'GET', '/metrics')).text).toContain('route="/v1/balance",status="200"');
    } finally {
      admin.closeAllConnections();
      await new Promise((resolve) => admin.close(resolve));
    }
  });
});
