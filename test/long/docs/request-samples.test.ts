// The programs on the pages of operations, copied from the pages and run in each language that this machine has.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { referencePages } from '../../../src/platform/http/openapi/reference-pages.js';
import { until } from '../../../packages/local/src/wait.js';
import type { Customer } from '../../support/api/client.js';
import { openTestProjectFixture, type TestProjectFixture } from '../../support/api/test-project-fixture.js';

const execute = promisify(execFile);
const LIMIT_MS = 120_000;

/** The file and the command of each language. */
const LANGUAGES: Readonly<Record<string, readonly [file: string, ...command: string[]]>> = {
  curl: ['send.sh', 'bash'],
  'Node.js': ['send.mjs', process.execPath],
  Python: ['send.py', 'python3'],
  PHP: ['send.php', 'php'],
  Go: ['send.go', 'go', 'run'],
};

async function isHere(command: string): Promise<boolean> {
  return execute('bash', ['-c', 'command -v "$0"', command]).then(
    () => true,
    () => false,
  );
}
const HERE = await Promise.all(Object.values(LANGUAGES).map(([, command]) => isHere(command!)));
const RUNNABLE = Object.keys(LANGUAGES).filter((_, index) => HERE[index]);

let folder: string;
let fixture: TestProjectFixture;
let customer: Customer;
let pages: ReturnType<typeof referencePages>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'energy-samples-'));
  pages = referencePages(JSON.parse(await readFile('openapi.json', 'utf8')) as Record<string, unknown>);
  fixture = await openTestProjectFixture();
  customer = await fixture.customer();
});

afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the program of a page, as a reader copies it. */
function programOf(page: string, language: string): string {
  const { markdown } = pages.find(({ name }) => name === page)!;
  const [, code] = new RegExp(`^${language.replace('.', '\\.')}:\n\n\`\`\`\n(.*?)\n\`\`\`$`, 'ms').exec(markdown)!;
  return code!;
}

/** Runs the program and returns all that it printed. */
async function run(page: string, language: string): Promise<string> {
  const [file, command, ...args] = LANGUAGES[language]!;
  const path = join(folder, file);
  await writeFile(path, programOf(page, language));
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    BASE_URL: customer.baseUrl,
    MERCHANT: customer.merchant,
    API_KEY: customer.apiKey,
  };
  // A service that has just started refuses the seconds before its nonce store.
  return until(
    async () => {
      const { stdout } = await execute(command!, [...args, path], { env, timeout: 120_000 });
      return stdout.includes('SIGNATURE_TIMESTAMP_OUT_OF_RANGE') ? undefined : stdout;
    },
    LIMIT_MS,
    'an answer to a signature of now',
  );
}

describe.each(RUNNABLE)('%s', (language) => {
  it('reads the balance', async () => {
    expect(await run('api-get-balance', language)).toContain('"credits_balance":1000000000');
  });

  it('signs a body and an Idempotency-Key', async () => {
    // The example's quote does not exist here; a wrong signature would be refused before.
    const answer = await run('api-create-order', language);
    expect(answer).toContain('"error":"QUOTE_NOT_FOUND"');
  });

  it('fills a path with its example', async () => {
    expect(await run('api-get-statement', language)).toContain('"error":"NOT_FOUND"');
  });
});

it('each page shows the programs of all languages, which differ only in their language', () => {
  for (const { name, html } of pages) {
    const [, shown = ''] = /<fieldset class="tabs">(.*)<\/fieldset>/s.exec(html) ?? [];
    expect([name, [...shown.matchAll(/<label [^>]*>([^<]*)/g)].map(([, language]) => language)]).toEqual([
      name,
      Object.keys(LANGUAGES),
    ]);
    expect([...shown.matchAll(/<pre /g)]).toHaveLength(Object.keys(LANGUAGES).length);
  }
});
