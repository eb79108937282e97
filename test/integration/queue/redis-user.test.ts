// A Redis user without dangerous commands, as hosted servers grant. Needs a redis-server: the JavaScript Redis of the
// other tests has no users. Without one on this machine the tests are skipped.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { freePort } from '../../../packages/local/src/ports.js';
import { until } from '../../../packages/local/src/wait.js';
import { checkRedis } from '../../../src/modules/diagnostics/doctor-stores.js';
import type { Config } from '../../../src/platform/config/config.js';
import { Redis } from 'ioredis';

const START_LIMIT_MS = 30_000;

function hasServer(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

(hasServer() ? describe : describe.skip)('a Redis user without dangerous commands', () => {
  let server: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const port = (await freePort()).toString();
    const user = ['--user', 'energy', 'on', '>word', '~*', '&*', '+@all', '-@dangerous'];
    server = spawn('redis-server', ['--bind', '127.0.0.1', '--port', port, '--save', '', ...user], { stdio: 'ignore' });
    url = `redis://energy:word@127.0.0.1:${port}`;
    await until(() => answers(url), START_LIMIT_MS, 'the start of redis-server', 100);
  }, 2 * START_LIMIT_MS);

  afterAll(() => server.kill());

  it('is no fault to the doctor, who cannot see evictions', async () => {
    const findings = await checkRedis({ redis: { url, prefix: 'test' } } as unknown as Config);
    expect(findings).toMatchObject([
      { check: 'redis', state: 'ok' },
      { check: 'redis eviction', state: 'warning' },
    ]);
  });
});

async function answers(url: string): Promise<true | undefined> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, enableReadyCheck: false });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
    return true;
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
}
