// The operator's order commands on a running service: explain, push, delivery with either signer, reclaim. Also the
// rotation of the master key under load.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import { forEachConcurrently } from '../../../src/platform/support/concurrency.js';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';
import { SignerServer } from '../../../src/modules/signer/server.js';
import { readSignerSettings } from '../../../src/modules/signer/settings.js';
import { Customer } from '../../support/api/client.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { cliWith, type Cli } from '../../support/cli.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { envAs } from '../../setup/roles.js';

let fixture: OrderFixture;
let customer: Customer;
let cli: Cli;
let folder: string;

const RENTAL_SEC = 30;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cli-orders-'));
  fixture = await openOrderFixture({ DURATION_MIN_SEC: String(RENTAL_SEC) });
  customer = await makeCustomer(fixture.api);
  cli = cliWith({ ...fixture.env, USER: 'tester' });
});

afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

async function order(key: string, receiver: number): Promise<number> {
  const body = { receive_address: fixture.receiver(receiver), energy: 65_000, duration_sec: RENTAL_SEC };
  const answer = await customer.post('/v1/orders', body, withKey(key));
  expect([answer.status, answer.body]).toEqual([202, expect.objectContaining({ status: 'reserved' })]);
  return answer.body.id as number;
}

async function until(id: number, isReached: (order: Record<string, unknown>) => boolean): Promise<void> {
  for (let look = 0; look < 300; look += 1) {
    const { order: now } = (await cli('orders', 'explain', String(id), '--json')).json();
    if (isReached(now)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`order ${String(id)} did not come so far: ${(await cli('orders', 'explain', String(id))).out}`);
}

async function startWorker(extra: Record<string, string> = {}): Promise<NodeProcess<unknown>> {
  return startNode('dist/bundle/main.worker.js', {
    name: 'the worker',
    env: envAs({ ...fixture.env, ...extra }, 'worker'),
  });
}

/** Undoes the line breaks of texts that are longer than 80 columns. */
const flat = (text: string): string => text.replaceAll(/\n? +/g, ' ').replaceAll('\n', ' ');

describe('orders', () => {
  it('lists, explains and pushes a waiting order', async () => {
    const id = await order('waiting one', 1);
    const listed = await cli('orders', 'list', '--status', 'reserved', '--project', customer.merchant, '--json');
    expect(listed.json().orders).toEqual([expect.objectContaining({ id, key: 'waiting one', status: 'reserved' })]);
    const explained = await cli('orders', 'explain', 'waiting one');
    expect(explained.out).toContain('nothing sent yet');
    expect(explained.out).toMatch(/accepted as rental/);
    expect(explained.out).toMatch(/charge of -\d/);
    expect(flat(explained.out)).toContain('also caps rented energy, and rented energy pays no bandwidth');
    expect(flat(explained.out)).toContain('needs a fee_limit of 6.500000 TRX (65 000 × 100 sun)');
    expect(flat(explained.out)).toMatch(/would fail now: T\w+ holds 0 of the token's smallest unit/);
    const { use } = (await cli('orders', 'explain', 'waiting one', '--json')).json();
    expect(use).toMatchObject({ energy_fee_sun: 100, fee_limit_sun: 6_500_000 });
    expect(use.transfer_failure).toMatch(/holds 0 of the token's smallest unit/);
    const pushed = await cli('orders', 'requeue', String(id), '--reason', 'impatient');
    expect([pushed.code, pushed.err]).toEqual([0, '']);
    const acts = await fixture.api.database.query(
      `SELECT actor, reason, subject FROM audit_log WHERE action = 'orders.requeue'`,
    );
    expect(acts).toEqual([{ actor: 'tester', reason: 'impatient', subject: String(id) }]);
  });

  it('rejects an unknown order, a wrong status or a foreign key', async () => {
    expect((await cli('orders', 'explain', '999999')).code).toBe(1);
    expect((await cli('orders', 'explain', 'no such key')).code).toBe(1);
    expect((await cli('orders', 'list', '--status', 'lost')).code).toBe(2);
  });

  it('are listed with project and key in a table of 80 columns', async () => {
    const buyer = await makeCustomer(fixture.api);
    const key = `payout-${'0123456789'.repeat(8)}-final`;
    const body = { receive_address: fixture.receiver(1), energy: 65_000 };
    expect((await buyer.post('/v1/orders', body, withKey(key))).status).toBe(202);
    const name = `A project whose name is ${'much '.repeat(8)}too long`;
    expect((await cli('project', 'rename', buyer.merchant, name)).code).toBe(0);
    const { out } = await cli('orders', 'list', '--project', buyer.merchant);
    const lines = out.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^order +project +key +status +created \(UTC\)$/);
    expect(lines[2]).toMatch(/^\d+ +A pro.*….*long +payout-.*….*-final +reserved +\d{4}-\d\d-\d\d \d\d:\d\d$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    const full = (await cli('orders', 'list', '--project', buyer.merchant, '--full')).out.replaceAll(/\s+/g, '');
    expect(full).toContain(key);
    expect(full).toContain(buyer.merchant);
    expect(full).toContain(fixture.receiver(1));
  });

  it('are listed by receiver, reference and time of one project', async () => {
    const buyer = await makeCustomer(fixture.api);
    for (const [key, index] of [
      ['one', 1],
      ['two', 2],
    ] as const) {
      const body = { receive_address: fixture.receiver(index), energy: 65_000, reference: `batch ${key}` };
      expect((await buyer.post('/v1/orders', body, withKey(key))).status).toBe(202);
    }
    const keysOf = async (...options: string[]): Promise<unknown> => {
      const listed = await cli('orders', 'list', '--project', buyer.merchant, '--json', ...options);
      expect([listed.code, listed.err]).toEqual([0, '']);
      return listed.json().orders.map(({ key }: { key: string }) => key);
    };
    expect(await keysOf()).toEqual(['two', 'one']);
    expect(await keysOf('--receiver', fixture.receiver(1))).toEqual(['one']);
    expect(await keysOf('--reference', 'batch two')).toEqual(['two']);
    expect(await keysOf('--from', '2026-01-01', '--to', '2126-01-01')).toEqual(['two', 'one']);
    expect(await keysOf('--to', '2026-01-01')).toEqual([]);
    expect((await cli('orders', 'list', '--project', buyer.merchant, '--full')).out).toContain('reference batch two');
    const everybody = await cli('orders', 'list', '--reference', 'batch two');
    expect([everybody.code, everybody.err]).toEqual([1, expect.stringContaining('--project')]);
    expect((await cli('orders', 'list', '--project', buyer.merchant, '--from', 'today')).code).toBe(2);
    const other = await makeCustomer(fixture.api);
    expect((await cli('orders', 'explain', 'waiting one', '--project', other.merchant)).code).toBe(1);
  });

  it('the worker does the same with the signer as with the sealed key: delivered, settled, reclaimed', async () => {
    const first = await order('by sealed key', 2);
    const worker = await startWorker();
    try {
      await until(first, (now) => now['status'] === 'delivered');
    } finally {
      await worker.stop();
    }

    const { address, privateKey } = fixture.chain.pool;
    await writeFile(join(folder, 'hot.key'), privateKey.toString('hex'), { mode: 0o600 });
    const wallet = { role: 'pool', address, permission_id: 0, key_file: 'hot.key' };
    const limits = { amount_max_trx: 1_000_000, trx_per_minute: 10_000_000, signatures_per_minute: 100 };
    await writeFile(join(folder, 'wallets.json'), JSON.stringify([{ ...wallet, ...limits }]), { mode: 0o600 });
    const settings = { SIGNER_SOCKET: join(folder, 's.sock'), SIGNER_WALLETS_FILE: join(folder, 'wallets.json') };
    const signed: unknown[] = [];
    const signer = new SignerServer(readSignerSettings(settings), (event) => signed.push(event));
    await signer.listen();
    const handed = await cli('pool', 'set-key', address, '--key-address', address, '--permission-id', '0', '--yes');
    expect(handed.code).toBe(0);
    const second = await order('by signer', 3);
    const next = await startWorker({ SIGNER_SOCKET: settings.SIGNER_SOCKET });
    try {
      await until(second, (now) => now['reclaimed_at'] !== null);
      await until(first, (now) => now['reclaimed_at'] !== null);
    } finally {
      await next.stop();
      await signer.close();
    }
    expect(signed).toContainEqual(expect.objectContaining({ msg: 'signed', type: 'UnDelegateResourceContract' }));

    const history = (await cli('orders', 'explain', String(second), '--json')).json();
    expect(history.transactions.map((tx: Record<string, unknown>) => tx['purpose'])).toEqual(['delegate', 'reclaim']);
    const moments = history.events.map((event: Record<string, unknown>) => event['type'] ?? event['to_status']);
    expect(moments).toEqual(['order.created', 'placed', 'order.delivered', 'order.settled', 'order.ended']);
    expect(history.events[2]).not.toHaveProperty('payload');
    expect(JSON.stringify(history)).not.toContain('signature');
    const explained = await cli('orders', 'explain', String(second));
    expect(explained.out).toContain('Finished');
    expect(explained.out).not.toContain('fee_limit');
    expect(history).not.toHaveProperty('use');
    expect(flat(explained.out)).toMatch(/sent delegate [0-9a-f]{12}… \(attempt 1\) to 127\.0\.0\.1:\d+: /);
    const finished = await cli('orders', 'requeue', String(second));
    expect([finished.code, finished.err]).toEqual([1, expect.stringContaining('finished')]);
  });
});

describe('keys rewrap', () => {
  const newKey = randomBytes(32).toString('base64');

  it('rotates the master key under load without a failed request, and then works with the new key alone', async () => {
    const keys = { MASTER_KEY: newKey, MASTER_KEY_PREVIOUS: fixture.env['MASTER_KEY']! };
    const customers: Customer[] = [];
    // As many concurrent creations as connections. More would let the last one wait too long on a slow machine.
    await forEachConcurrently([...Array(120).keys()], 8, async () => {
      customers.push(await makeCustomer(fixture.api));
    });
    const both = await openApi({ ...fixture.env, ...keys });
    const answers: number[] = [];
    let isLoading = true;
    const load = async (caller: Customer): Promise<void> => {
      const same = new Customer(both.baseUrl, caller.merchant, caller.apiKey);
      while (isLoading) {
        answers.push((await same.get('/v1/balance')).status);
        answers.push((await same.post('/v1/quotes', { receive_address: fixture.receiver(4), energy: 65_000 })).status);
      }
    };
    const loads = customers.slice(0, 6).map(load);
    const during = cliWith({ ...fixture.env, ...keys, USER: 'tester' });
    const runs = await Promise.all([1, 2].map(() => during('keys', 'rewrap', '--json')));
    const again = await during('keys', 'rewrap', '--json');
    const enough = answers.length + 30;
    while (answers.length < enough) await new Promise((resolve) => setTimeout(resolve, 20));
    isLoading = false;
    await Promise.all(loads);
    await both.close();

    // Two concurrent runs: exactly one of them counts each key as resealed.
    for (const kind of [0, 1]) {
      const counts = runs.map((run) => run.json().rewrap[kind] as { rewrapped: number; current: number });
      const resealed = counts[0]!.rewrapped + counts[1]!.rewrapped;
      const { what, failed, rewrapped, current } = again.json().rewrap[kind];
      expect({ what, failed, rewrapped, current }).toEqual({
        what: ['api keys', 'pool keys'][kind],
        failed: [],
        rewrapped: 0,
        current: resealed,
      });
      for (const each of counts) expect(each.rewrapped + each.current).toBe(resealed);
      if (kind === 0) expect(resealed).toBeGreaterThan(120);
    }
    expect(new Set(answers)).toEqual(new Set([200]));

    const alone: TestApi = await openApi({ ...fixture.env, MASTER_KEY: keys.MASTER_KEY });
    const served = await Promise.all(customers.map((caller) => serve(alone, caller)));
    await alone.close();
    expect(new Set(served)).toEqual(new Set([200]));
    const sealer = new Sealer({ current: sealKey(Buffer.from(keys.MASTER_KEY, 'base64'), 'pool-key') });
    const pool = await fixture.api.database.query<{ address: string; key_sealed: Buffer }>(
      `SELECT address, key_sealed FROM pool_wallet WHERE key_sealed IS NOT NULL`,
    );
    for (const { address, key_sealed: sealed } of pool) expect(sealer.open(sealed, address)).toHaveLength(32);
  });

  it('names secrets that open under neither key, and fails', async () => {
    const lost = new Sealer({ current: randomBytes(32) }).seal(Buffer.from('lost'), customer.merchant);
    await fixture.api.database.query('UPDATE project SET api_key_sealed = $2 WHERE id = $1', [customer.merchant, lost]);
    const failed = await cliWith({ ...fixture.env, MASTER_KEY: newKey, USER: 'tester' })('keys', 'rewrap');
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining(customer.merchant)]);
  });
});

async function serve(api: TestApi, { merchant, apiKey }: Customer): Promise<number> {
  return (await new Customer(api.baseUrl, merchant, apiKey).get('/v1/balance')).status;
}
