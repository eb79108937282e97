// Every endpoint that answers many rows waits for its project's turn among lists. The endpoints come from the OpenAPI
// document, so that a new one is tested as well.
import { ListQueue } from '../../../src/platform/http/pipeline/list-queue.js';
import { send, type Answer, type HmacCustomer } from '../../support/api/client.js';
import { openWebhookFixture, type WebhookFixture } from '../../support/webhooks/webhook-fixture.js';

let fixture: WebhookFixture;
let customer: HmacCustomer;
let webhook: string;

beforeAll(async () => {
  fixture = await openWebhookFixture();
  customer = await fixture.newCustomer();
  webhook = (await fixture.newWebhook(customer)).id;
});

afterAll(async () => {
  await fixture.close();
});

type Operations = Readonly<Record<string, { readonly parameters?: readonly { readonly name: string }[] }>>;

/** Returns the paths that take a `limit`, with their parameters filled in. */
async function listPaths(): Promise<string[]> {
  const { paths } = (await send(fixture.api.baseUrl, 'GET', '/openapi.json')).body as {
    paths: Readonly<Record<string, Operations>>;
  };
  return Object.entries(paths)
    .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'limit'))
    .map(([path]) => path.replace('{id}', webhook));
}

test('a project whose places are taken waits for its next list, and reads single rows meanwhile', async () => {
  const lists = fixture.api.app.get(ListQueue);
  const paths = await listPaths();
  expect(paths.length).toBeGreaterThan(6);
  for (const path of paths) {
    let free = (): void => undefined;
    const gate = new Promise<void>((resolve) => (free = resolve));
    const taken = [1, 2].map(() => lists.run(customer.merchant, () => gate));
    const done: string[] = [];
    const listed = customer.get(path).then((answer: Answer) => {
      done.push(path);
      return answer;
    });
    for (let read = 0; read < 5; read += 1) expect((await customer.get('/v1/balance')).status).toBe(200);
    expect({ path, done }).toEqual({ path, done: [] });
    free();
    await Promise.all(taken);
    expect([path, (await listed).status]).toEqual([path, 200]);
  }
});
