// The output of the command line as a process: a disk that is full, and a reader that closes the pipe.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { limited } from '../../../packages/local/src/wait.js';
import { cliWith, settings } from '../../support/cli.js';
import { COMMAND_LIMIT_MS } from '../../support/command.js';
import { openWebhookFixture, type WebhookFixture } from '../../support/webhooks/webhook-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { envAs } from '../../setup/roles.js';

const PROGRAM = 'dist/bundle/main.cli.js';
const IS_LINUX = process.platform === 'linux';

describe('a command', () => {
  let database: TestDatabase;
  let env: Record<string, string>;

  beforeAll(async () => {
    database = await createTestDatabase();
    env = settings(database.url);
  });
  afterAll(() => database.drop());

  /** Runs the command with its answer on a full disk. */
  async function runOnFullDisk(...args: string[]): Promise<{ code: number; err: string }> {
    const full = await open('/dev/full', 'w');
    try {
      const child = spawn(process.execPath, [PROGRAM, ...args], {
        env: { ...process.env, NODE_OPTIONS: '', ...envAs(env, 'cli') },
        stdio: ['ignore', full.fd, 'pipe'],
      });
      let err = '';
      child.stderr!.on('data', (text) => (err += String(text)));
      const [code] = (await limited(once(child, 'close'), COMMAND_LIMIT_MS, 'the end of the command')) as [number];
      return { code, err };
    } finally {
      await full.close();
    }
  }

  it('about the ledger separates the thousands of credits and dollars, as the consoles do', async () => {
    const cli = cliWith(env);
    const { merchant } = (await cli('--json', 'project', 'create', '--name', 'Shop')).json() as { merchant: string };
    const booked = await cli('credits', 'topup', merchant, '--credits', '12345678900000', '--ref', 'invoice-1');
    expect(booked.out).toContain('12 345 678 900 000 (1 234 567.89 USD)');
    await cli('credits', 'adjust', merchant, '--credits', '-20000000000', '--reason', 'corrected', '--yes');
    const { out } = await cli('credits', 'statement', merchant);
    expect(out).toMatch(/credits +\+12 345 678 900 000\n +USD +1 234 567\.89\n/);
    expect(out).toMatch(/credits +-20 000 000 000\n +USD +-2 000\.00\n/);
  });

  (IS_LINUX ? it : it.skip)('whose answer cannot be written says that it ran, in one line', async () => {
    const created = await cliWith(env)('--json', 'project', 'create', '--name', 'Shop');
    const { merchant } = created.json() as { merchant: string };
    const topUp = ['credits', 'topup', merchant, '--credits', '7', '--ref'];
    const plain = await runOnFullDisk(...topUp, randomUUID());
    expect(plain).toEqual({
      code: 1,
      err: expect.stringMatching(/^The output was not written \(ENOSPC.*\), but the command ran\. .*audit list.*\n$/),
    });
    const json = await runOnFullDisk('--json', ...topUp, randomUUID());
    expect([json.code, JSON.parse(json.err)]).toMatchObject([1, { ok: false, error: 'OUTPUT_LOST' }]);
    const booked = await asAdmin(database.url, async (client) =>
      client.query(`SELECT credits FROM credit_entry WHERE project_id = $1`, [merchant]),
    );
    expect(booked.rows).toHaveLength(2);
  });
});

describe('listen', () => {
  let fixture: WebhookFixture;

  beforeAll(async () => {
    fixture = await openWebhookFixture({ GENERAL_RATE_LIMIT_PER_MINUTE: '1000000' });
  });
  afterAll(() => fixture.close());

  it('ends once its reader has closed the pipe', async () => {
    const customer = await fixture.newCustomer();
    for (let count = 0; count < 3; count += 1) await fixture.happen(customer);
    const child = spawn(process.execPath, [PROGRAM, 'listen', '--after', '0', '--json'], {
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        BASE_URL: customer.baseUrl,
        MERCHANT: customer.merchant,
        API_KEY: customer.apiKey,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let err = '';
    child.stderr.on('data', (text) => (err += String(text)));
    const closed = once(child, 'close');
    try {
      await limited(once(child.stdout, 'data'), COMMAND_LIMIT_MS, 'the first line');
      child.stdout.destroy();
      await fixture.happen(customer);
      await fixture.happen(customer);
      expect([await limited(closed, COMMAND_LIMIT_MS, 'the end of listen'), err]).toEqual([[0, null], '']);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
