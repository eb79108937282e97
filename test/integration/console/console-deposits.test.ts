// Decisions on held deposits in the operators' console: immediate up to a limit, above it with a second admin, and once.
import { randomUUID } from 'node:crypto';
import { LEDGER_ACT_CHECKS } from '../../../src/modules/verify/ledger-act-checks.js';
import type {
  CreditRequestList,
  DecidedDeposit,
  DepositEvidence,
} from '../../../src/modules/console/operator-shapes.js';
import { openConsole, type Account, type Answer, type TestConsole } from '../../support/console/console-fixture.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_CREDITS = 100_000_000;
/** At the rate below, 20 TRX are 6 dollars and 200 TRX are 60. */
const [SMALL_SUN, LARGE_SUN] = [20_000_000n, 200_000_000n];
const [SMALL, LARGE] = [60_000_000, 600_000_000];
const ADDRESS = 'TDepositAddress7';

let store: TestDatabase;
let operators: TestConsole;
let cli: Cli;
let first: Account;
let second: Account;
let support: Account;
let [project, busy] = ['', ''];
let made = 0;

beforeAll(async () => {
  store = await createTestDatabase();
  operators = await openConsole(store.url, 'operator', { APPROVAL_CREDITS: LIMIT_CREDITS.toString() });
  cli = cliWith(settings(store.url));
  first = await operators.signedIn('admin', undefined, 'first@example.com');
  second = await operators.signedIn('admin', undefined, 'second@example.com');
  support = await operators.signedIn('support', undefined, 'support@example.com');
  const created = async (name: string): Promise<string> =>
    ((await cli('project', 'create', '--name', name, '--json')).json() as { merchant: string }).merchant;
  [project, busy] = [await created('Payer'), await created('Busy')];
  await query(`INSERT INTO deposit_account (account, first_address) VALUES (7, $1)`, [ADDRESS]);
  await query(`INSERT INTO deposit_address (address, account, place, project_id) VALUES ($1, 7, 0, $2)`, [
    ADDRESS,
    project,
  ]);
});

afterAll(async () => {
  await operators.close();
  await store.drop();
});

const query = <Row extends object>(text: string, params: unknown[] = []): Promise<Row[]> =>
  operators.database.query<Row>(text, params);

/** Records a held deposit and returns its number. `rate` null: no rate of its minute is known. */
async function hold(amount: bigint, terms: { reason?: string; rate?: number | null } = {}): Promise<bigint> {
  const { reason = 'rate_jump', rate = 30_000_000 } = terms;
  const [row] = await query<{ id: bigint }>(
    `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at, status, reason, rate_e8)
     VALUES (sha256(convert_to($1, 'UTF8')), 'native', 0, $2, $3, 'TSender', 'TRX', $4, 7, sha256('b'), now() - interval '1 hour', 'held', $5, $6)
     RETURNING id`,
    [`deposit ${(made += 1).toString()}`, project, ADDRESS, amount, reason, rate],
  );
  return row!.id;
}

const pathOf = (id: bigint, rest = ''): string => `/api/operator/deposits/dep_${id.toString()}${rest}`;
const evidenceOf = async (id: bigint, by = support): Promise<DepositEvidence> =>
  (await by.browser.get(pathOf(id))).body as DepositEvidence;

interface Decided extends Answer {
  readonly body: DecidedDeposit & { error?: string; msg?: string };
}

const decide = (id: bigint, body: object, by = first): Promise<Decided> =>
  by.browser.post(pathOf(id, '/decide'), {
    ...{ id: randomUUID(), decision: 'credit', worth_credits: SMALL, reason: 'the sender is known' },
    ...body,
  });
const settle = (request: string, act: 'approve' | 'reject', by = second): Promise<Answer> =>
  by.browser.post(`/api/operator/credit-requests/${request}/${act}`, { reason: 'compared with the chain' });
const statusOf = async (id: bigint): Promise<[string, string | null]> => {
  const [row] = await query<{ status: string; reason: string | null }>(
    'SELECT status, reason FROM deposit WHERE id = $1',
    [id],
  );
  return [row!.status, row!.reason];
};
const entriesOf = (id: bigint) =>
  query<{ credits: bigint; actor: string; reason: string }>(
    `SELECT e.credits, e.actor, e.reason FROM credit_entry e JOIN deposit d
       ON e.entry_key = 'deposit:' || encode(d.txid, 'hex') || ':' || d.kind || ':' || d.place WHERE d.id = $1`,
    [id],
  );
const actsOf = async (id: bigint): Promise<[string, string, string][]> =>
  (
    await query<{ action: string; actor: string; reason: string }>(
      `SELECT action, actor, reason FROM audit_log WHERE action LIKE 'deposits.%' AND subject = $1 ORDER BY id`,
      [id.toString()],
    )
  ).map(({ action, actor, reason }) => [action, actor, reason]);
const balance = async (): Promise<bigint> =>
  (await query<{ b: bigint }>('SELECT balance_credits AS b FROM credit_account WHERE project_id = $1', [project]))[0]!
    .b;
const requestOf = async (id: string) =>
  ((await first.browser.get('/api/operator/credit-requests')).body as CreditRequestList).items.find(
    (each) => each.id === id,
  );

it('shows the evidence of a held deposit, and records that an operator looked', async () => {
  const id = await hold(SMALL_SUN);
  const evidence = await evidenceOf(id);
  expect(evidence).toMatchObject({
    deposit: {
      id: `dep_${id.toString()}`,
      project: { id: project, name: 'Payer' },
      ...{ status: 'held', asset: 'TRX', amount: '20.000000', from_address: 'TSender', address: ADDRESS },
      txid: expect.stringMatching(/^[0-9a-f]{64}$/),
      says: expect.stringContaining('differs by more than a tenth from the median'),
    },
    worth: { credits: SMALL, usd: '6.000000' },
    limit: { credits: LIMIT_CREDITS },
  });
  const looks = await query(`SELECT FROM audit_log WHERE action = 'console.look' AND subject = $1 AND actor = $2`, [
    project,
    support.email,
  ]);
  expect(looks).toHaveLength(1);
  for (const unknown of ['dep_999999', 'dep_x', '7']) {
    expect([unknown, (await first.browser.get(`/api/operator/deposits/${unknown}`)).status]).toEqual([unknown, 404]);
  }
});

it('shows the small deposits that are held with a deposit, and credits them with it', async () => {
  const [id, alone] = [await hold(SMALL_SUN, { reason: 'amount' }), await hold(SMALL_SUN)];
  // 1.5 TRX at the same rate.
  await query(
    `INSERT INTO deposit_sum (project_id, asset, wait_reason, amount, worth, entry_key, decision, reason, is_settled)
     SELECT project_id, 'TRX', 'below_minimum', 1500000, 1500000 * 30000000::numeric,
         'deposit:' || encode(txid, 'hex') || ':' || kind || ':' || place, 'held', 'amount', true FROM deposit WHERE id = $1`,
    [id],
  );
  const evidence = await evidenceOf(id);
  expect(evidence).toMatchObject({ small_amount: '1.500000', worth: { credits: SMALL + 4_500_000 } });
  expect(await evidenceOf(alone)).not.toHaveProperty('small_amount');
  const before = await balance();
  expect((await decide(id, { worth_credits: SMALL })).status).toBe(409);
  expect((await decide(id, { worth_credits: SMALL + 4_500_000 })).status).toBe(200);
  expect((await balance()) - before).toBe(BigInt(SMALL + 4_500_000));
  const acts = await query<{ small: string }>(
    `SELECT detail ->> 'smallOnes' AS small FROM audit_log WHERE action = 'deposits.credit' AND subject = $1`,
    [id.toString()],
  );
  expect(acts).toEqual([{ small: '1500000' }]);
});

it('shows a held deposit in the inbox without a command and its reason', async () => {
  const id = await hold(SMALL_SUN);
  const { items } = (await first.browser.get('/api/operator/inbox')).body as {
    items: { says: string; command?: string; subject?: { kind: string; id: string } }[];
  };
  const [line] = items.filter(({ subject }) => subject?.kind === 'deposit' && subject.id === id.toString());
  expect(line).toMatchObject({ says: `Deposit dep_${id.toString()} is held: rate_jump. Credit or refuse it` });
  expect(line?.command).toBeUndefined();
});

it('lists rare deposits behind as many others as one page reads, each once', async () => {
  const add = (status: string, count: number) =>
    operators.database.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      const added = await tx.query<{ id: bigint }>(
        `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at, status, reason)
         SELECT sha256(convert_to($2 || n || clock_timestamp(), 'UTF8')), 'native', 0, $1, $3, 'TSender', 'TRX', 1, 7, sha256('b'), now(), $2, 'amount'
           FROM generate_series(1, $4::integer) n RETURNING id`,
        [busy, status, ADDRESS, count],
      );
      return added.map(({ id }) => `dep_${id.toString()}`);
    });
  const older = await add('held', 3);
  await add('ignored', 19_998);
  const newest = await add('held', 1);
  const page = async (cursor?: string) => {
    const path = `/api/operator/deposits?project=${busy}&status=held&limit=2`;
    const { items, next_cursor: next } = (
      await first.browser.get(cursor === undefined ? path : `${path}&cursor=${cursor}`)
    ).body;
    return { ids: (items as { id: string }[]).map(({ id }) => id), next: next as string | undefined };
  };
  // The third oldest is the last one that the first page reads.
  const [one, two, three] = older;
  const beginning = await page();
  expect(beginning.ids).toEqual([...newest, three]);
  expect(await page(beginning.next)).toEqual({ ids: [two, one], next: undefined });
});

describe('a decision up to the limit', () => {
  it('credits a deposit once, however often and concurrently it is sent', async () => {
    const id = await hold(SMALL_SUN);
    const before = await balance();
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => decide(id, {}, n % 2 === 0 ? second : first)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    expect((await decide(id, { decision: 'refuse' })).status).toBe(409);
    expect(await statusOf(id)).toEqual(['credited', null]);
    const [entry, ...others] = await entriesOf(id);
    expect([entry, others]).toEqual([
      { credits: BigInt(SMALL), actor: expect.stringMatching(/^(first|second)@/), reason: 'the sender is known' },
      [],
    ]);
    expect((await balance()) - before).toBe(BigInt(SMALL));
    expect(await actsOf(id)).toEqual([['deposits.credit', entry!.actor, 'the sender is known']]);
    const events = await query(
      `SELECT FROM event WHERE project_id = $1 AND snapshot -> 'deposit' ->> 'id' = $2 AND type = 'deposit.credited'`,
      [project, id.toString()],
    );
    expect(events).toHaveLength(1);
  });

  it('refuses a deposit with the typed reason, which the project reads', async () => {
    const id = await hold(SMALL_SUN);
    const before = await balance();
    const refused = await decide(id, { decision: 'refuse', reason: ' paid by a thief ' });
    expect([refused.status, refused.body.deposit.status, refused.body.deposit.reason]).toEqual([
      200,
      'ignored',
      'paid by a thief',
    ]);
    expect([await entriesOf(id), await balance()]).toEqual([[], before]);
    expect(await actsOf(id)).toEqual([['deposits.ignore', first.email, 'paid by a thief']]);
    expect((await decide(id, {})).status).toBe(409);
    await operators.database.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await tx.query(
        `INSERT INTO deposit_return (deposit_id, to_address, txid, expires_at) VALUES ($1, 'TSender', sha256('r'), now())`,
        [id],
      );
    });
    const { says } = (await evidenceOf(id)).deposit;
    expect(says).toMatch(/^Not credited: .* paid by a thief It is being returned to the sender/);
  });

  it('needs an admin with a fresh sign-in, a reason, a decision and the worth that the admin saw', async () => {
    const id = await hold(SMALL_SUN);
    for (const body of [
      { reason: ' ' },
      { reason: undefined },
      { decision: 'keep' },
      { id: '7' },
      { worth_credits: -1 },
    ]) {
      expect([body, (await decide(id, body)).status]).toEqual([body, 400]);
    }
    expect((await decide(id, {}, support)).status).toBe(403);
    for (const worth of [0, SMALL - 1, SMALL + 1, LARGE]) {
      expect([worth, (await decide(id, { worth_credits: worth })).status]).toEqual([worth, 409]);
    }
    await query(
      `UPDATE console_session SET authenticated_at = clock_timestamp() - interval '11 min' WHERE person_id = $1`,
      [first.id],
    );
    expect((await decide(id, {})).body.error).toBe('SIGN_IN_AGAIN');
    await query(`UPDATE console_session SET authenticated_at = clock_timestamp() WHERE person_id = $1`, [first.id]);
    expect([await statusOf(id), await actsOf(id)]).toEqual([['held', 'rate_jump'], []]);
  });

  it('is carried out at exactly the limit, and requested a credit above it', async () => {
    const at = { rate: 25_000_000 };
    const [id, above] = [await hold(40_000_000n, at), await hold(40_000_001n, at)];
    const decided = await decide(id, { worth_credits: LIMIT_CREDITS });
    expect([decided.body.deposit.status, decided.body.request]).toEqual(['credited', undefined]);
    const worth = (await evidenceOf(above)).worth!.credits;
    expect(worth).toBe(LIMIT_CREDITS + 2);
    const requested = await decide(above, { worth_credits: worth });
    expect([requested.body.deposit.status, requested.body.request?.status]).toEqual(['held', 'pending']);
  });

  it('cannot credit a deposit worth less than one credit, and can refuse it', async () => {
    const id = await hold(1n, { rate: 1_000_000 });
    const credited = await decide(id, { worth_credits: 0 });
    expect([credited.status, credited.body.msg]).toEqual([409, 'The deposit is worth less than one credit.']);
    expect((await decide(id, { worth_credits: 0, decision: 'refuse' })).body.deposit.status).toBe('ignored');
  });

  it('waits for a rate of its minute', async () => {
    const id = await hold(SMALL_SUN, { reason: 'one_node', rate: null });
    expect((await evidenceOf(id)).worth).toBeUndefined();
    expect((await decide(id, {})).status).toBe(409);
    await query(
      `INSERT INTO asset_rate (asset, minute, rate_e8) SELECT 'TRX', date_trunc('minute', block_at), 30000000 FROM deposit WHERE id = $1`,
      [id],
    );
    expect((await evidenceOf(id)).worth?.credits).toBe(SMALL);
    expect((await decide(id, {})).body.deposit.status).toBe('credited');
  });
});

describe('a decision above the limit', () => {
  it('is requested by one admin, carried out once when another approves, and shown with its evidence until then', async () => {
    const id = await hold(LARGE_SUN);
    const request = randomUUID();
    const before = await balance();
    const asked = await Promise.all([1, 2, 3].map(() => decide(id, { id: request, worth_credits: LARGE })));
    expect(asked.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(asked[0]!.body).toMatchObject({
      deposit: { status: 'held' },
      request: { id: request, kind: 'deposit', status: 'pending', amount: { credits: LARGE } },
    });
    expect((await decide(id, { worth_credits: LARGE }, second)).status).toBe(409);
    expect([await statusOf(id), await entriesOf(id)]).toEqual([['held', 'rate_jump'], []]);
    expect((await requestOf(request))?.deposit).toMatchObject({ from_address: 'TSender', status: 'held' });
    const { items } = (await second.browser.get('/api/operator/inbox')).body as {
      items: { says: string; subject?: { id: string } }[];
    };
    expect(items.find(({ subject }) => subject?.id === request)?.says).toBe(
      'Credit of a held deposit of 60.00 USD for Payer, requested by first@example.com, needs the approval of another admin',
    );
    expect((await settle(request, 'approve', first)).status).toBe(403);
    const answers = await Promise.all([1, 2, 3, 4].map(() => settle(request, 'approve')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect(await statusOf(id)).toEqual(['credited', null]);
    expect(await entriesOf(id)).toEqual([
      { credits: BigInt(LARGE), actor: second.email, reason: 'the sender is known' },
    ]);
    expect((await balance()) - before).toBe(BigInt(LARGE));
    expect(await actsOf(id)).toEqual([['deposits.credit', second.email, 'the sender is known']]);
    expect(await requestOf(request)).toMatchObject({ status: 'approved', decided_by: second.email });
  });

  it('also takes two admins to refuse a deposit', async () => {
    const id = await hold(LARGE_SUN);
    const request = randomUUID();
    await decide(id, { id: request, decision: 'refuse', worth_credits: LARGE });
    expect([await statusOf(id), (await requestOf(request))?.kind]).toEqual([['held', 'rate_jump'], 'refusal']);
    const before = await balance();
    expect((await settle(request, 'approve')).status).toBe(200);
    expect([await statusOf(id), await entriesOf(id), await balance()]).toEqual([
      ['ignored', 'the sender is known'],
      [],
      before,
    ]);
  });

  it('that is rejected leaves the deposit held, and may be requested again', async () => {
    const id = await hold(LARGE_SUN);
    const request = randomUUID();
    await decide(id, { id: request, worth_credits: LARGE });
    expect((await settle(request, 'reject')).status).toBe(200);
    expect([await statusOf(id), await entriesOf(id)]).toEqual([['held', 'rate_jump'], []]);
    expect((await decide(id, { worth_credits: LARGE })).body.request?.status).toBe('pending');
  });

  it('is not requested once the deposit is not held any more', async () => {
    const id = await hold(LARGE_SUN);
    await cli('deposits', 'resolve', id.toString(), '--ignore', '--reason', 'known bad', '--yes');
    const request = randomUUID();
    const late = await decide(id, { id: request, worth_credits: LARGE });
    expect([late.status, late.body.msg]).toEqual([409, 'The deposit is ignored, not held.']);
    expect(await requestOf(request)).toBeUndefined();
  });

  it('is not carried out at another worth than the one that was requested', async () => {
    const id = await hold(LARGE_SUN);
    const request = randomUUID();
    await decide(id, { id: request, worth_credits: LARGE });
    await operators.database.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await tx.query('UPDATE deposit SET rate_e8 = rate_e8 + 1 WHERE id = $1', [id]);
    });
    const late = await settle(request, 'approve');
    expect([late.status, (late.body as { msg: string }).msg]).toEqual([409, expect.stringContaining('has changed')]);
    expect([await statusOf(id), await entriesOf(id)]).toEqual([['held', 'rate_jump'], []]);
    expect((await settle(request, 'reject')).status).toBe(200);
  });

  it('is not carried out when the command decided on the deposit meanwhile', async () => {
    const id = await hold(LARGE_SUN);
    const request = randomUUID();
    await decide(id, { id: request, worth_credits: LARGE });
    const resolved = await cli('deposits', 'resolve', id.toString(), '--ignore', '--reason', 'known bad', '--yes');
    expect([resolved.code, resolved.err]).toEqual([0, '']);
    const late = await settle(request, 'approve');
    expect([late.status, (late.body as { msg: string }).msg]).toEqual([409, expect.stringContaining('not held')]);
    expect([(await requestOf(request))?.status, await entriesOf(id)]).toEqual(['pending', []]);
    expect((await settle(request, 'reject')).status).toBe(200);
  });
});

it('verify finds approved decisions whose deposit was decided otherwise, and nothing else', async () => {
  const { text } = LEDGER_ACT_CHECKS.find(({ check }) => check === 'credit-requests')!;
  expect(await query(text)).toEqual([]);
  const found = await operators.database
    .transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await tx.query(`UPDATE deposit SET status = 'held' WHERE status = 'ignored'`);
      await tx.query(`UPDATE credit_entry SET credits = credits + 1 WHERE entry_key LIKE 'deposit:%'`);
      throw Object.assign(new Error('undo'), { rows: await tx.query(text) });
    })
    .catch((error: unknown) => (error as { rows?: { kind: string }[] }).rows);
  expect(found?.map(({ kind }) => kind).sort()).toEqual(['deposit', 'refusal']);
});
