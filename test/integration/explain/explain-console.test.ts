// "Why did it burn?" in the consoles: a person asks, a worker answers, and the answer is that of the API.
import 'reflect-metadata';
import { ExplanationAnswers } from '../../../src/modules/explain/explanation-answers.js';
import { pruneExplanations } from '../../../src/modules/explain/retention.js';
import { explained, nextHolder, NEVER_SENT, send } from '../../support/api/transfer-explanations.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { seedTestCanaries } from '../../support/cli.js';
import {
  api,
  closeFixture,
  customer,
  env,
  openFixtureWithToken,
  START_LIMIT_MS,
  SteppedWorker,
  tokenHolder,
} from '../../support/worker/fulfilment-fixture.js';
import { LONG_SEC, settled } from '../../support/worker/usable-energy-fixture.js';

const RECENT_MAX = 20;

let worker: SteppedWorker;
let merchants: TestConsole;
let operators: TestConsole;
let owner: Account;
let stranger: Account;
let support: Account;
let mine: string;
let theirs: string;
let paid: string;

beforeAll(async () => {
  await openFixtureWithToken();
  worker = await SteppedWorker.open();
  const rented = await nextHolder();
  await settled(worker, rented.address, 65_000, LONG_SEC);
  paid = await send(rented, tokenHolder.address);
  const url = env['DATABASE_URL']!;
  await seedTestCanaries(url);
  [merchants, operators] = [await openConsole(url, 'merchant'), await openConsole(url, 'operator')];
  mine = customer.merchant;
  theirs = (await makeCustomer(api)).merchant;
  owner = await merchants.signedIn('member', mine, 'owner@example.com');
  stranger = await merchants.signedIn('member', theirs, 'stranger@example.com');
  support = await operators.signedIn('support', undefined, 'support@example.com');
}, START_LIMIT_MS);

afterAll(async () => {
  await merchants.close();
  await operators.close();
  await worker.close();
  await closeFixture();
}, START_LIMIT_MS);

beforeEach(() => api.database.query('DELETE FROM explanation_request'));

const of = (project: string): string => `/api/projects/${project}/explanations`;
const SERVICE = '/api/operator/explanations';
const answerDue = () => worker.part(ExplanationAnswers).answerDue();

async function ask(by: Account, path: string, txid: string): Promise<string> {
  const { status, body } = await by.browser.post(path, { txid });
  expect([status, body]).toEqual([202, { id: expect.any(String) as string }]);
  return (body as { id: string }).id;
}

const read = async (by: Account, path: string, id: string) => (await by.browser.get(`${path}/${id}`)).body as unknown;

it('answers a merchant as the API answers its server', async () => {
  const id = await ask(owner, of(mine), ` ${paid.toUpperCase()} `);
  expect(await read(owner, of(mine), id)).toEqual({ answered: false });
  expect(await answerDue()).toBe(1);
  expect(await read(owner, of(mine), id)).toEqual({ answered: true, answer: await explained(paid) });
  expect(await answerDue()).toBe(0);
});

it('answers an operator by the orders of all projects', async () => {
  const id = await ask(support, SERVICE, paid);
  await answerDue();
  expect(await read(support, SERVICE, id)).toMatchObject({ answered: true, answer: { txid: paid } });
  const inProject = await ask(support, of(theirs), paid);
  await answerDue();
  expect(await read(support, of(theirs), inProject)).toEqual({ answered: true });
});

it('shows a merchant no transaction of another project, nor the requests of others', async () => {
  const foreign = await ask(stranger, of(theirs), paid);
  const unknown = await ask(stranger, of(theirs), NEVER_SENT);
  await answerDue();
  for (const id of [foreign, unknown]) expect(await read(stranger, of(theirs), id)).toEqual({ answered: true });
  const own = await ask(owner, of(mine), paid);
  expect((await stranger.browser.get(`${of(theirs)}/${own}`)).status).toBe(404);
  expect((await stranger.browser.get(`${of(mine)}/${own}`)).status).toBe(404);
  expect((await support.browser.get(`${SERVICE}/${own}`)).status).toBe(404);
  expect((await owner.browser.get(`${of(mine)}/other`)).status).toBe(404);
});

it.each(['0x' + 'ab'.repeat(32), 'ab'.repeat(31), 'xy'.repeat(32), ''])('refuses the id %p', async (txid) => {
  expect((await owner.browser.post(of(mine), { txid })).status).toBe(400);
});

it('refuses further requests while many of the project wait or are a minute old, and takes them afterwards', async () => {
  const refused = async (): Promise<void> => {
    const { status, body } = await owner.browser.post(of(mine), { txid: NEVER_SENT });
    expect([status, (body as { error: string }).error]).toEqual([429, 'RATE_LIMITED']);
  };
  const age = (by: string) =>
    api.database.query(`UPDATE explanation_request SET requested_at = requested_at - $1::interval`, [by]);
  for (let n = 0; n < RECENT_MAX; n += 1) await ask(owner, of(mine), NEVER_SENT);
  await refused();
  await ask(stranger, of(theirs), NEVER_SENT);
  await age('2 minutes');
  await refused();
  while ((await answerDue()) > 0);
  await age('-2 minutes');
  await refused();
  await age('2 minutes');
  await ask(owner, of(mine), NEVER_SENT);
  // A clock that was set back leaves times ahead of it, which refuse nothing.
  await age('-1 hour');
  await ask(owner, of(mine), NEVER_SENT);
});

it('says that no node answered, instead of finding nothing', async () => {
  const alone = await SteppedWorker.open({ TRON_FULL_NODE_URLS: 'http://127.0.0.1:1', TRON_READ_TIMEOUT_MS: '300' });
  try {
    const id = await ask(owner, of(mine), paid);
    await alone.part(ExplanationAnswers).answerDue();
    expect(await read(owner, of(mine), id)).toEqual({ answered: true, error: 'CHAIN_UNAVAILABLE' });
  } finally {
    await alone.close();
  }
});

it('answers what a dead worker had taken, also after the clock was set back', async () => {
  const id = await ask(owner, of(mine), paid);
  await api.database.query(`UPDATE explanation_request SET taken_at = clock_timestamp()`);
  expect(await answerDue()).toBe(0);
  await api.database.query(`UPDATE explanation_request SET taken_at = clock_timestamp() + interval '1 hour'`);
  expect(await answerDue()).toBe(1);
  expect(await read(owner, of(mine), id)).toMatchObject({ answered: true, answer: { txid: paid } });
});

it('keeps a request for a day', async () => {
  await ask(owner, of(mine), paid);
  expect(await pruneExplanations(api.database, 10)).toBe(0);
  await api.database.query(`UPDATE explanation_request SET requested_at = clock_timestamp() - interval '25 hours'`);
  expect(await pruneExplanations(api.database, 10)).toBe(1);
});
