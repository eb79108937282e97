// The operator's commands end to end on a real database: answers, refusals and side effects.
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';

let database: TestDatabase;
let env: Record<string, string>;
let cli: Cli;

beforeAll(async () => {
  database = await createTestDatabase();
  env = settings(database.url);
  cli = cliWith(env);
});

afterAll(async () => {
  await database.drop();
});

async function rows(text: string, params: unknown[] = [], url = database.url): Promise<Record<string, unknown>[]> {
  return asAdmin(url, async (client) => (await client.query(text, params)).rows);
}

async function newProject(...args: string[]): Promise<{ merchant: string; api_key: string }> {
  const created = await cli('--json', 'project', 'create', '--name', 'Shop', ...args);
  expect(created.err).toBe('');
  return created.json();
}

describe('the command line', () => {
  it('answers help on stdout with code 0, and a missing command on stderr with code 2', async () => {
    const help = await cli('--help');
    expect([help.code, help.err]).toEqual([0, '']);
    for (const group of ['migrate', 'project', 'credits', 'price', 'pool']) expect(help.out).toContain(group);
    const none = await cli();
    expect([none.code, none.out]).toEqual([2, '']);
    expect(none.err).toContain('Usage');
  });

  it.each([
    [['projects']],
    [['project', 'creat']],
    [['project', 'create']],
    [['project', 'create', '--name']],
    [['project', 'create', '--name', 'x', '--credits', '1.5']],
    [['project', 'create', '--name', 'x', '--credits', '-1']],
    [['project', 'create', '--name', 'x', '--credits', '9007199254740992']],
    [['project', 'create', '--name', ' ']],
    [['project', 'create', '--name', 'x', '--debt-limit', '5']],
    [['project', 'create', '--name', 'x', '--postpaid']],
    [['project', 'create', '--name', 'x', '--postpaid', '--unlimited']],
    [['project', 'create', '--name', 'x', '--colour', 'red']],
    [['project', 'show', '--', '-1']],
    [['project', 'show', 'not-a-uuid']],
    [['project', 'terms', randomUUID(), '--postpaid']],
    [['project', 'options', randomUUID(), '--allow-source', '10.0.0.0/33']],
    [['price', 'set', '--duration-max', '0', '--sun-per-energy', '5']],
    [['pool', 'add', '--role', 'bank', '--address', 'T', '--key-file', 'x', '--permission-id', '2']],
  ])('a wrong call ends with code 2 and one sentence: %j', async (args: string[]) => {
    const plain = await cli(...args);
    expect([plain.code, plain.out]).toEqual([2, '']);
    expect(plain.err.trim()).not.toBe('');
    expect(plain.err).not.toMatch(/^\s+at /m);
    const json = await cli('--json', ...args);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.err)).toEqual({ ok: false, error: 'USAGE', msg: expect.stringMatching(/./) });
  });

  it('prints the names of missing settings, never their values', async () => {
    const { MASTER_KEY: _gone, ...without } = env;
    const result = await cliWith({ ...without, PORT: 'secret-port' })('project', 'list');
    expect(result.code).toBe(1);
    expect(result.err).toContain('MASTER_KEY is required');
    expect(result.err).toContain('PORT');
    expect(result.err).not.toContain('secret-port');
  });

  it('reports a database that is away or was never migrated', async () => {
    const away = await cliWith({ ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })(
      'project',
      'list',
      '--json',
    );
    expect(away.code).toBe(1);
    expect(JSON.parse(away.err)).toMatchObject({ error: 'DATABASE_UNAVAILABLE' });
  });
});

describe('the process', () => {
  async function shell(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const options = { env: { PATH: process.env['PATH'], ...env }, timeout: 30_000 };
    return promisify(execFile)(process.execPath, ['dist/bundle/main.cli.js', ...args], options).then(
      (done) => ({ code: 0, ...done }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );
  }

  it('finishes its work though the reader of its output stops, as with `| head`', async () => {
    const { merchant } = await newProject();
    const args = ['dist/bundle/main.cli.js', 'credits', 'topup', merchant, '--credits', '5', '--ref', 'unread'];
    const child = spawn(process.execPath, [...args, '--reason', 'unread'], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 30_000,
    });
    child.stdout.destroy();
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = await once(child, 'close');
    expect([code, said]).toEqual([0, '']);
    expect(await rows('SELECT credits::int FROM credit_entry WHERE project_id = $1', [merchant])).toEqual([
      { credits: 5 },
    ]);
  });

  it('prints only the answer, and ends by itself with its code', async () => {
    const listed = await shell('project', 'list', '--json');
    expect([listed.code, listed.stderr, JSON.parse(listed.stdout)]).toEqual([0, '', { projects: expect.any(Array) }]);
    const unknown = await shell('project', 'show', randomUUID());
    expect([unknown.code, unknown.stdout, unknown.stderr]).toEqual([
      1,
      '',
      expect.stringContaining('There is no project'),
    ]);
  });

  it('never does anything dangerous unasked when nobody is at the terminal', async () => {
    for (const named of [[], ['--database', 'any']]) {
      const refused = await shell('migrate', 'down', ...named);
      expect([refused.code, refused.stdout, refused.stderr]).toEqual([2, '', expect.stringContaining('--yes')]);
    }
  });
});

describe('migrate', () => {
  it('creates the schema in an empty database, checks it, and removes it only when confirmed, with only DATABASE_URL', async () => {
    const name = `${fromSetup('TEST_DATABASE_PREFIX')}_cli`;
    const adminUrl = fromSetup('TEST_DATABASE_URL');
    await asAdmin(adminUrl, (client) => client.query(`CREATE DATABASE ${name}`));
    const url = databaseUrl(adminUrl, name);
    const bare = cliWith({ DATABASE_URL: url });
    try {
      expect((await bare('migrate', 'check')).code).toBe(1);
      const unready = await cliWith({ ...env, DATABASE_URL: url })('--json', 'project', 'list');
      expect([unready.code, JSON.parse(unready.err).error]).toEqual([1, 'NOT_MIGRATED']);

      const up = await bare('migrate', '--json');
      expect([up.code, JSON.parse(up.err)]).toEqual([0, { warning: expect.stringContaining('MASTER_KEY is not set') }]);
      expect(up.json().migrated.length).toBeGreaterThan(0);
      expect((await bare('migrate', 'up', '--json')).json()).toEqual({ migrated: [] });
      expect((await bare('migrate', 'check')).code).toBe(0);

      const refused = await bare('migrate', 'down');
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--database NAME and --yes')]);
      expect((await bare('migrate', 'down', '--yes')).code).toBe(2);
      expect((await bare('migrate', 'down', '--database', name)).code).toBe(2);
      expect((await cliWith({ DATABASE_URL: url }, 'n')('migrate', 'down', '--database', name)).code).toBe(2);
      const another = await bare('migrate', 'down', '--yes', '--database', 'production');
      expect([another.code, another.err]).toEqual([
        1,
        expect.stringContaining(`leads to the database ${name}, not to`),
      ]);
      expect((await bare('migrate', 'check')).code).toBe(0);

      const names = up.json().migrated as string[];
      for (let left = names.length - 1; left >= 0; left -= 1) {
        const down = await bare('migrate', 'down', '--yes', '--database', name, '--json');
        expect(down.json()).toEqual({ undone: names[left], remaining: names.slice(0, left) });
        expect((await bare('migrate', 'check')).code).toBe(1);
      }
      const nothing = await bare('migrate', 'down', '--yes', '--database', name, '--json');
      expect([nothing.code, nothing.out, JSON.parse(nothing.err).error]).toEqual([1, '', 'MIGRATION_KEPT']);
      expect((await cliWith({ DATABASE_URL: url }, 'y')('migrate', 'up')).code).toBe(0);
    } finally {
      await asAdmin(adminUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    }
  });

  it('migrate down is refused while delegations, orders, transactions or balances are open, and while the service runs', async () => {
    const used = await createTestDatabase();
    const bare = cliWith({ DATABASE_URL: used.url });
    const name = new URL(used.url).pathname.slice(1);
    const down = (): ReturnType<Cli> => bare('migrate', 'down', '--yes', '--database', name);
    const order = randomUUID();
    const cases = [
      [
        `WITH p AS (INSERT INTO project (id, name, api_key_sealed) VALUES ('${order}', 'a', '') RETURNING id)
          INSERT INTO credit_account (project_id, balance_credits, is_postpaid, floor_credits) SELECT id, -1, true, NULL FROM p`,
        '1 projects with a balance or a debt',
      ],
      [
        `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
          VALUES ('${order}', 'k', sha256(''), 'activation', 'reserved', 'T', 1, 1, 1, now())`,
        '1 unfinished orders',
      ],
      [
        `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
          SELECT id, 1, kind, 1, 'T', 1, 'reserved' FROM orders`,
        '1 delegations not reclaimed',
      ],
      [
        `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, ref_block_number, expires_at)
          SELECT order_id, id, 'activate', 1, 1, 'built', sha256('x'), 'x', 1, now() FROM leg`,
        '1 transactions on their way',
      ],
      [
        `INSERT INTO orphan_tx (txid, wallet_id, type, by_own_key, raw_data, block_number, block_id, block_at)
          VALUES (sha256('y'), 1, 57, true, 'y', 1, '', now())`,
        '1 unrecorded transactions',
      ],
    ] as const;
    try {
      for (const [insert, named] of cases) {
        await rows(insert, [], used.url);
        const refused = await down();
        expect([refused.code, refused.out, refused.err]).toEqual([1, '', expect.stringContaining(named)]);
        expect((await bare('migrate', 'check')).code).toBe(0);
      }
      await asAdmin(used.url, async (client) => {
        await client.query(`SET application_name = 'energy-api'`);
        expect((await down()).err).toContain('The service is running (energy-api)');
      });
    } finally {
      await used.drop();
    }
  });
});

describe('project', () => {
  it('is created with credits through the ledger, and its key is shown once and sealed under its id', async () => {
    const { merchant, api_key: apiKey } = await newProject('--credits', '250_000', '--reason', 'pilot');
    expect(apiKey).toMatch(/^[0-9a-f]{48}$/);
    const [row] = await rows(`SELECT api_key_sealed FROM project WHERE id = $1`, [merchant]);
    const sealer = new Sealer({ current: sealKey(Buffer.from(env['MASTER_KEY']!, 'base64'), 'api-key') });
    expect(sealer.open(row!['api_key_sealed'] as Buffer, merchant)?.toString()).toBe(apiKey);
    expect(
      await rows(`SELECT kind, credits, actor, reason FROM credit_entry WHERE project_id = $1`, [merchant]),
    ).toEqual([{ kind: 'topup', credits: '250000', actor: 'tester', reason: 'pilot' }]);
    const shown = await cli('project', 'show', merchant);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain('250 000');
    expect(shown.out).not.toContain(apiKey);
    expect(
      await rows(`SELECT actor, reason FROM audit_log WHERE subject = $1 AND action = 'project.create'`, [merchant]),
    ).toEqual([{ actor: 'tester', reason: 'pilot' }]);
  });

  it('prints a table and a list for people', async () => {
    const created = await cli('project', 'create', '--name', 'Ünïcode & Söhne', '--postpaid', '--debt-limit', '5000');
    expect([created.code, created.err]).toEqual([0, '']);
    expect(created.out).toMatch(/API key +[0-9a-f]{48}/);
    const list = await cli('project', 'list');
    expect(list.out).toMatch(
      /merchant [0-9a-f-]{36}\n +name +Ünïcode & Söhne\n +state +active\n +terms +postpaid to 5 000/,
    );
  });

  it('needs an actor', async () => {
    const { USER: _gone, ...nobody } = env;
    const result = await cliWith(nobody)('project', 'create', '--name', 'x');
    expect([result.code, result.err]).toEqual([2, expect.stringContaining('--actor')]);
    expect((await cliWith(nobody)('project', 'create', '--name', 'x', '--actor', 'ada')).code).toBe(0);
  });

  it('freezes once confirmed and unfreezes, and keeps who did it and why', async () => {
    const { merchant } = await newProject();
    expect((await cliWith(env, 'n')('project', 'freeze', merchant)).err).toContain('Nothing was changed');
    const frozen = await cli('project', 'freeze', merchant.toUpperCase(), '--reason', 'unpaid', '--yes', '--json');
    expect(frozen.json()).toMatchObject({ merchant, frozen: true });
    expect((await cli('project', 'unfreeze', merchant, '--json')).json()).toMatchObject({ frozen: false });
    const acts = await rows(
      `SELECT action, reason FROM audit_log WHERE subject = $1 AND action ~ 'freeze' ORDER BY id`,
      [merchant],
    );
    expect(acts).toEqual([
      { action: 'project.freeze', reason: 'unpaid' },
      { action: 'project.unfreeze', reason: 'unfrozen' },
    ]);
    expect((await cli('project', 'freeze', randomUUID(), '--yes')).code).toBe(1);
  });

  it('gets a new key only when confirmed', async () => {
    const { merchant, api_key: before } = await newProject();
    expect((await cli('project', 'rotate-key', merchant)).code).toBe(2);
    const rotated = (await cli('project', 'rotate-key', merchant, '--yes', '--json')).json();
    const made = { webhooks: [], auto_delegations: [], auto_delegations_count: 0 };
    expect(rotated).toEqual({ merchant, api_key: expect.stringMatching(/^[0-9a-f]{48}$/), made });
    expect(rotated.api_key).not.toBe(before);
    expect((await cli('project', 'rotate-key', randomUUID(), '--yes')).code).toBe(1);
    const overlapping = ['project', 'rotate-key', merchant, '--yes', '--overlap'];
    expect((await cli(...overlapping, '604801')).code).toBe(2);
    expect((await cli(...overlapping, '60')).code).toBe(0);
  });

  it('changes terms; removing every limit must be explicit and confirmed', async () => {
    const { merchant } = await newProject();
    const limited = await cli('project', 'terms', merchant, '--postpaid', '--debt-limit', '700', '--json');
    expect(limited.json()).toMatchObject({ is_postpaid: true, debt_limit_credits: 700 });
    expect((await cli('project', 'terms', merchant, '--postpaid', '--unlimited')).code).toBe(2);
    const unlimited = await cli('project', 'terms', merchant, '--postpaid', '--unlimited', '--yes', '--json');
    expect(unlimited.json()).toMatchObject({ is_postpaid: true, debt_limit_credits: null });
    expect((await cli('project', 'terms', merchant, '--prepaid', '--json')).json()).toMatchObject({
      is_postpaid: false,
      debt_limit_credits: 0,
    });
  });

  it('changes the options of its requests one by one', async () => {
    const { merchant } = await newProject();
    const options = async (...args: string[]) => (await cli('project', 'options', merchant, ...args, '--json')).json();
    expect(await options('--require-quote', 'on', '--daily-cap', '1000')).toMatchObject({
      require_quote: true,
      require_idempotency_key: false,
      daily_cap_credits: 1000,
    });
    expect(await options('--allow-source', '10.0.0.0/8', '2001:db8::1')).toMatchObject({
      require_quote: true,
      allowed_sources: ['10.0.0.0/8', '2001:db8::1'],
      daily_cap_credits: 1000,
    });
    expect(await options('--any-source', '--daily-cap-off', '--require-quote', 'off')).toMatchObject({
      require_quote: false,
      allowed_sources: [],
      daily_cap_credits: null,
    });
  });

  it('sets the balance below which there is an event, and reports when the balance is already below it', async () => {
    const { merchant } = await newProject();
    const set = (...args: string[]) => cli('project', 'options', merchant, ...args, '--json');
    expect((await set()).json()).toMatchObject({ low_balance_credits: null });
    const below = await set('--low-balance', '1 000');
    expect(below.json()).toMatchObject({ credits_balance: 0, low_balance_credits: 1000 });
    expect(below.err).toContain('already below the threshold');
    const above = await set('--low-balance', '-1000');
    expect(above.json()).toMatchObject({ low_balance_credits: -1000 });
    expect(above.err).toBe('');
    expect((await set('--low-balance', '1', '--low-balance-off')).code).toBe(2);
    expect((await set('--low-balance-off')).json()).toMatchObject({ low_balance_credits: null });
  });
});

describe('credits', () => {
  it('a top-up under one reference is booked once', async () => {
    const { merchant } = await newProject();
    const topUp = () => cli('credits', 'topup', merchant, '--credits', '500', '--ref', `bank-${merchant}`, '--json');
    expect((await topUp()).json()).toMatchObject({ booked: true, credits_balance: 500 });
    expect((await topUp()).json()).toMatchObject({ booked: false, credits_balance: 500 });
    const other = await newProject();
    const foreign = await cli('credits', 'topup', other.merchant, '--credits', '500', '--ref', `bank-${merchant}`);
    expect([foreign.code, foreign.err]).toEqual([1, expect.stringContaining('already booked')]);
  });

  it('an adjustment requires a reason and a confirmation, and obeys the terms', async () => {
    const { merchant } = await newProject('--credits', '100');
    const adjust = (...args: string[]) => cli('credits', 'adjust', merchant, ...args);
    expect((await adjust('--credits', '-30', '--yes')).err).toContain('--reason');
    expect((await adjust('--credits', '-30', '--reason', 'typo')).err).toContain('--yes');
    const done = await adjust('--credits', '-30', '--reason', 'typo', '--yes', '--json');
    expect(done.json()).toMatchObject({ booked: true, credits: -30, credits_balance: 70 });
    const tooMuch = await adjust('--credits', '-71', '--reason', 'typo', '--yes', '--json');
    expect([tooMuch.code, JSON.parse(tooMuch.err).error]).toEqual([1, 'INSUFFICIENT_CREDITS']);
  });

  it('the statement shows every entry, and they sum to the balance', async () => {
    const { merchant } = await newProject('--credits', '20_000_000');
    await cli('credits', 'adjust', merchant, '--credits=-5000000', '--reason', 'shared costs', '--yes');
    const { entries, credits_balance: balance } = (await cli('credits', 'statement', merchant, '--json')).json();
    expect(entries.map((entry: Record<string, unknown>) => [entry['kind'], entry['credits']])).toEqual([
      ['adjustment', -5_000_000],
      ['topup', 20_000_000],
    ]);
    expect(balance).toBe(15_000_000);
    const human = await cli('credits', 'statement', merchant, '--limit', '1');
    expect(human.out).toMatch(/adjustment\n +credits +-5 000 000\n +USD +-0\.50\n +by +tester\n +reason +shared costs/);
    expect(human.out).toContain('15 000 000 (1.50 USD)');
    expect(human.out).not.toContain('topup');
  });
});

describe('price', () => {
  it.each([
    ['a year for 1 sun', '31536000', '1', /longer than .*90 d.*less than the price of the shorter row/],
    ['a longer rental for less than a shorter one', '9000', '44', /less than the price of the shorter row of 3600 s/],
  ])('refuses a likely mistake unless it is forced: %s', async (_, duration, perEnergy, words) => {
    const list = async () => (await cli('price', 'list', '--json')).json().prices as unknown[];
    const before = await list();
    const row = ['--duration-max', duration, '--sun-per-energy', perEnergy, '--yes'];
    const refused = await cli('price', 'set', ...row);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toMatch(words);
    expect(refused.err).toContain('Nothing was changed. Pass --force');
    expect(await list()).toEqual(before);
    const forced = await cli('price', 'set', ...row, '--force');
    expect(forced.code).toBe(0);
    expect(forced.err).toMatch(/^Warning: /);
    expect(await list()).toHaveLength(before.length + 1);
    expect((await cli('price', 'remove', '--duration-max', duration, '--yes')).code).toBe(0);
  });

  it('lists, sets and removes rows, each change confirmed and recorded', async () => {
    const list = async () => (await cli('price', 'list', '--json')).json().prices;
    const before = await list();
    expect(before.length).toBeGreaterThan(1);
    expect((await cli('price', 'set', '--duration-max', '7200', '--sun-per-energy', '50')).code).toBe(2);
    expect(await list()).toEqual(before);
    const set = await cli(
      'price',
      'set',
      '--duration-max',
      '7200',
      '--sun-per-energy',
      '50',
      '--yes',
      '--reason',
      'new row',
    );
    expect([set.code, set.out]).toEqual([0, expect.stringContaining('2 h')]);
    expect(await list()).toContainEqual({ duration_max_sec: 7200, sun_per_energy: 50, sun_per_bandwidth: null });
    expect((await cli('price', 'remove', '--duration-max', '7200', '--yes')).code).toBe(0);
    expect(await list()).toEqual(before);
    expect((await cli('price', 'remove', '--duration-max', '7200', '--yes')).code).toBe(1);
    const acts = await rows(`SELECT action, reason FROM audit_log WHERE subject = '7200' ORDER BY id`);
    expect(acts.map((act) => act['action'])).toEqual(['price.set', 'price.remove']);
  });
});
