// Webhooks in the merchants' console: one delivery with its body and answer, and the warning about failing endpoints.
import { randomUUID } from 'node:crypto';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { cliWith, seedTestCanaries, settings } from '../../support/cli.js';
import { noteWebhookSecret } from '../../setup/canary.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const BODY = '{"id":"evt_1","type":"order.delivered","data":{}}';

let test: TestDatabase;
let merchants: TestConsole;
let owner: Account;
let member: Account;
let [project, other] = ['', ''];

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  const cli = cliWith(settings(test.url));
  const made = async (name: string): Promise<string> =>
    ((await cli('project', 'create', '--name', name, '--json')).json() as { merchant: string }).merchant;
  [project, other] = [await made('Mine'), await made('Theirs')];
  merchants = await openConsole(test.url, 'merchant');
  owner = await merchants.signedIn('owner', project);
  member = await merchants.signedIn('member', project);
});

afterAll(async () => {
  await merchants.close();
  await test.drop();
});

const of = (rest: string): string => `/api/projects/${project}${rest}`;
let made = 0;

async function webhook(): Promise<string> {
  made += 1;
  const answer = await owner.browser.post(of('/webhooks'), { url: `https://hooks.example.com/${made.toString()}` });
  expect(answer.status).toBe(201);
  noteWebhookSecret(answer.body.secret as string);
  return answer.body.webhook.id as string;
}

interface Delivery {
  readonly status?: 'pending' | 'delivered' | 'failed';
  readonly attempts?: number;
  readonly cause?: 'event' | 'test';
  /** Seconds since the last attempt, and since the delivery was written. */
  readonly attemptedAgo?: number;
  readonly createdAgo?: number;
}

/** Writes a delivery of an event of an order, as the sender leaves it. */
async function delivery(endpoint: string, given: Delivery = {}): Promise<string> {
  const { status = 'pending', attempts = 1, cause = 'event', attemptedAgo = 1, createdAgo = 60 } = given;
  let id = '';
  await asAdmin(test.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    const { rows } = await client.query<{ id: string }>(
      `WITH bought AS (
         INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
         VALUES ($1, $2, sha256(''), 'rental', 'delivered', 'T', 1, 1, 1, now()) RETURNING id),
       happened AS (
         INSERT INTO event (order_id, project_id, type, position, payload)
         SELECT id, $1, 'order.delivered', 1000000000 + id, $3 FROM bought RETURNING id, position)
       INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position, status, attempts, next_at, created_at,
         attempted_at, ended_at, answer_status, answer, duration_ms, is_fresh)
       SELECT $4, $5, id, 'evt_1', 'order.delivered', position, $6, $7, CASE WHEN $6 = 'pending' THEN now() + interval '1 hour' END,
         now() - make_interval(secs => $9), now() - make_interval(secs => $8), CASE WHEN $6 <> 'pending' THEN now() END, 503, 'down', 41, false
       FROM happened RETURNING id`,
      [project, `order-${randomUUID()}`, BODY, endpoint, cause, status, attempts, attemptedAgo, createdAgo],
    );
    id = rows[0]!.id;
  });
  return id;
}

it('refuses a second rotation of a secret while the first secret still signs, and ends both without an overlap', async () => {
  const path = of(`/webhooks/${await webhook()}/rotate`);
  const rotate = (sec: number) => owner.browser.post(path, { expire_old_after_sec: sec });
  const answers = [await rotate(60), await rotate(60), await rotate(0)];
  expect(answers.map(({ status, body }) => [status, body.error])).toEqual([
    [200, undefined],
    [409, 'LIMIT_REACHED'],
    [200, undefined],
  ]);
  for (const { body } of [answers[0]!, answers[2]!]) noteWebhookSecret(body.secret as string);
});

describe('one delivery', () => {
  it('shows its order, the body sent, the answer and the next attempt', async () => {
    const endpoint = await webhook();
    const id = await delivery(endpoint);
    const path = of(`/webhooks/${endpoint}/deliveries/${id}`);
    const { status, body } = await owner.browser.get(path);
    expect([status, body]).toMatchObject([
      200,
      {
        id: Number(id),
        type: 'order.delivered',
        order_key: expect.stringMatching(/^order-/),
        body: BODY,
        status: 'pending',
        last_status: 503,
        last_answer: 'down',
        next_attempt_at: expect.any(String),
      },
    ]);
    const seen = await member.browser.get(path);
    expect([seen.status, seen.body.body, seen.body.last_answer]).toEqual([200, BODY, undefined]);
  });

  it('is tried immediately when its owner wants it, and an ended one is sent again as a new one', async () => {
    const endpoint = await webhook();
    const waiting = await delivery(endpoint);
    const path = (id: string): string => of(`/webhooks/${endpoint}/deliveries/${id}`);
    const tried = await owner.browser.post(`${path(waiting)}/resend`, {});
    expect([tried.status, tried.body.id]).toEqual([200, Number(waiting)]);
    const { next_attempt_at: next } = (await owner.browser.get(path(waiting))).body as { next_attempt_at: string };
    expect(Date.parse(next)).toBeLessThan(Date.now() + 60_000);
    const ended = await delivery(endpoint, { status: 'failed', attempts: 12 });
    const again = await owner.browser.post(`${path(ended)}/resend`, {});
    const fresh = await owner.browser.get(path((again.body.id as number).toString()));
    expect(fresh.body).toMatchObject({ cause: 'resend', status: 'pending', attempts: 0, body: BODY });
  });

  it('of another webhook or project does not exist', async () => {
    const [endpoint, another] = [await webhook(), await webhook()];
    const id = await delivery(endpoint);
    const stranger = await merchants.signedIn('owner', other);
    for (const [browser, path] of [
      [owner.browser, of(`/webhooks/${another}/deliveries/${id}`)],
      [owner.browser, of(`/webhooks/${endpoint}/deliveries/0`)],
      [owner.browser, of(`/webhooks/${endpoint}/deliveries/nothing`)],
      [stranger.browser, `/api/projects/${other}/webhooks/${endpoint}/deliveries/${id}`],
    ] as const) {
      expect([path, (await browser.get(path)).status]).toEqual([path, 404]);
    }
  });
});

describe('the home page warns of an endpoint', () => {
  const warns = async (): Promise<string[]> =>
    ((await owner.browser.get(of('/home'))).body.needs_you as { kind: string; says: string }[])
      .filter(({ kind }) => kind === 'webhook_failing')
      .map(({ says }) => says);
  /** Removes all webhooks, and returns a new one that was made a minute ago. */
  const alone = async (): Promise<string> => {
    for (const { id } of (await owner.browser.get(of('/webhooks'))).body.items as { id: string }[]) {
      expect((await owner.browser.post(of(`/webhooks/${id}/delete`), {})).status).toBe(200);
    }
    const endpoint = await webhook();
    await merchants.database.query(
      `UPDATE webhook_endpoint SET changed_at = changed_at - interval '2 minutes' WHERE id = $1`,
      [endpoint],
    );
    return endpoint;
  };
  const taken = (endpoint: string, agoSec: number): Promise<unknown> =>
    merchants.database.query(
      `UPDATE webhook_state SET taken_at = now() - make_interval(secs => $2) WHERE endpoint_id = $1`,
      [endpoint, agoSec],
    );

  it('at the third failed delivery in a row, and no more once one was accepted', async () => {
    const endpoint = await alone();
    await delivery(endpoint);
    await delivery(endpoint);
    expect(await warns()).toEqual([]);
    await delivery(endpoint);
    expect(await warns()).toEqual([expect.stringMatching(/^https:\/\/hooks\.example\.com.* failed at its last three/)]);
    await taken(endpoint, 0);
    expect(await warns()).toEqual([]);
  });

  it('at the third failed attempt of two deliveries', async () => {
    const endpoint = await alone();
    await delivery(endpoint, { attempts: 2 });
    expect(await warns()).toEqual([]);
    await delivery(endpoint, { attempts: 1, status: 'failed' });
    expect(await warns()).toHaveLength(1);
  });

  it('by attempts since the last success only, without tests', async () => {
    const endpoint = await alone();
    await taken(endpoint, 30);
    // Two of its attempts may lie before the success.
    await delivery(endpoint, { attempts: 3, createdAgo: 90 });
    for (let count = 0; count < 2; count += 1) {
      await delivery(endpoint, { attempts: 5, attemptedAgo: 40, createdAgo: 90 });
    }
    await delivery(endpoint, { attempts: 5, cause: 'test' });
    expect(await warns()).toEqual([]);
    await delivery(endpoint, { attempts: 2, createdAgo: 20 });
    expect(await warns()).toHaveLength(1);
  });

  it('that is slowed down, however many untried deliveries wait', async () => {
    const endpoint = await alone();
    await merchants.database.query(`UPDATE webhook_state SET failures = 3 WHERE endpoint_id = $1`, [endpoint]);
    expect(await warns()).toHaveLength(1);
  });
});
