// `npm run demo` as a command: it keeps serving even if its own demonstration fails.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNode } from '../../packages/local/src/processes.js';
import { limited } from '../../packages/local/src/wait.js';
import { fromSetup } from '../setup/admin.js';
import { createTestDatabase } from '../setup/database.js';

const START_LIMIT_MS = 300_000;

interface Served {
  readonly base_url: string;
  readonly devnet_control_url: string;
  readonly accounts: readonly { readonly address: string }[];
}

it(
  'a step that fails is reported, and the service goes on',
  async () => {
    const [store, folder] = await Promise.all([createTestDatabase(), mkdtemp(join(tmpdir(), 'energy-demo-'))]);
    const file = join(folder, 'served.json');
    const said: string[] = [];
    const reports = new Map<string, () => void>();
    const says = (text: string): Promise<void> =>
      limited(new Promise<void>((resolve) => reports.set(text, resolve)), START_LIMIT_MS, text);
    const goesOn = says('Use it yourself');
    const demo = await startNode('packages/local/dist/main.demo.js', {
      name: 'demo',
      args: ['--json', file],
      env: { NODE_OPTIONS: '', DATABASE_URL: store.url, REDIS_URL: fromSetup('TEST_REDIS_URL'), PORT: '0' },
      readyWhen: (line) => (line.includes('A merchant is about to send') ? true : undefined),
      onLine: (line) => {
        said.push(line);
        for (const [text, report] of reports) if (line.includes(text)) report();
      },
      readyLimitMs: START_LIMIT_MS,
    });
    try {
      const served = JSON.parse(await readFile(file, 'utf8')) as Served;
      // From here on the demonstration's token refuses every transfer.
      await fetch(`${served.devnet_control_url}/token/pause`, { method: 'POST', body: '{}' });
      await goesOn;
      const output = said.join('\n');
      expect(output).toContain('The demonstration stopped at this step; the service keeps running.');
      for (const { address } of served.accounts.slice(0, 2)) expect(output).not.toContain(address);
      expect((await fetch(`${served.base_url}/docs`)).status).toBe(200);
    } finally {
      await demo.stop();
      await Promise.all([store.drop(), rm(folder, { recursive: true, force: true })]);
    }
  },
  2 * START_LIMIT_MS,
);
