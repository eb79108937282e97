// `npm run demo` as a command: it keeps serving even if its own demonstration fails.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { startNode } from '../../../packages/local/src/processes.js';
import { limited } from '../../../packages/local/src/wait.js';
import { cliWith } from '../../support/cli.js';
import { fromSetup } from '../../setup/admin.js';
import { createTestDatabase } from '../../setup/database.js';

const START_LIMIT_MS = 300_000;
/** The time of the chain on a line, after the seconds since the start. */
const CHAIN_TIME = /^ *[\d.]+s {2}(\d{2}:\d{2}:\d{2}) /;
const DAY_SEC = 86_400;

interface Served {
  readonly base_url: string;
  readonly api_key: string;
  readonly devnet_control_url: string;
  readonly accounts: readonly { readonly address: string }[];
}

/** Returns the chain's time of day on a line, in seconds. */
const chainSecOf = (line = ''): number => Date.parse(`1970-01-01T${CHAIN_TIME.exec(line)?.[1] ?? ''}Z`) / 1000;

it(
  'writes settings with which the CLI works; a step that fails is reported, and the service goes on',
  async () => {
    const [store, folder] = await Promise.all([createTestDatabase(), mkdtemp(join(tmpdir(), 'energy-demo-'))]);
    const file = join(folder, 'served.json');
    const settings = join(folder, 'demo.env');
    const said: string[] = [];
    const reports = new Map<string, () => void>();
    const says = (text: string): Promise<void> =>
      limited(new Promise<void>((resolve) => reports.set(text, resolve)), START_LIMIT_MS, text);
    const goesOn = says('Use it yourself');
    const ended = says('← order.ended');
    const demo = await startNode('packages/local/dist/main.demo.js', {
      name: 'demo',
      args: ['--json', file, '--env', settings],
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
      // With these settings alone, as in a new shell.
      const { API_KEY: apiKey, ...env } = parseEnv(await readFile(settings, 'utf8')) as Record<string, string>;
      expect([apiKey, env['BASE_URL']]).toEqual([served.api_key, served.base_url]);
      const cli = cliWith(env);
      const doctor = await cli('--json', 'doctor');
      const { findings } = doctor.json() as { findings: { state: string }[] };
      expect([doctor.code, findings.filter(({ state }) => state === 'fault')]).toEqual([0, []]);
      expect((await cli('project', 'list')).out).toContain('Northwind Wallet');
      // From here on the demonstration's token refuses every transfer.
      await fetch(`${served.devnet_control_url}/token/pause`, { method: 'POST', body: '{}' });
      await goesOn;
      const output = said.join('\n');
      expect(output).toContain('The demonstration stopped at this step; the service keeps running.');
      for (const { address } of served.accounts.slice(0, 2)) expect(output).not.toContain(address);
      expect((await fetch(`${served.base_url}/docs`)).status).toBe(200);
      // An event that arrives later shows the time of the chain at its arrival.
      await ended;
      const start = said.findIndex((line) => line.includes('Use it yourself'));
      const before = said.slice(0, start).findLast((line) => CHAIN_TIME.test(line));
      const after = said.slice(start).find((line) => line.includes('← order.ended'));
      expect((chainSecOf(after) - chainSecOf(before) + DAY_SEC) % DAY_SEC).toBeGreaterThan(0);
    } finally {
      await demo.stop();
      await Promise.all([store.drop(), rm(folder, { recursive: true, force: true })]);
    }
  },
  2 * START_LIMIT_MS,
);
