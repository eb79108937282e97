// The operator's command of the systemd units, with a program in the place of the CLI that prints its environment.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'energy-cli-'));
  await mkdir(join(folder, 'secrets'));
  await writeFile(join(folder, 'cli.env'), '');
  await writeFile(join(folder, 'cli.mjs'), 'console.log(JSON.stringify(process.env));');
  const command = await readFile(new URL('../../../docker/systemd/energy-rental-cli', import.meta.url), 'utf8');
  const moved = command
    .replaceAll('/etc/energy-rental', folder)
    .replace('/opt/energy-rental/current/dist/bundle/main.cli.js', join(folder, 'cli.mjs'))
    .replace('/usr/bin/node', process.execPath);
  await writeFile(join(folder, 'energy-rental-cli'), moved);
});

afterEach(() => rm(folder, { recursive: true }));

async function environment(env: Record<string, string> = {}): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)('bash', [join(folder, 'energy-rental-cli'), 'doctor'], {
    env: { PATH: process.env['PATH'], ...env },
  });
  return JSON.parse(stdout) as Record<string, string>;
}

it('reads the login, Redis and the keys of the CLI from the secrets', async () => {
  const secrets = join(folder, 'secrets');
  expect(await environment()).toMatchObject({
    DATABASE_URL_FILE: `${secrets}/cli-database-url`,
    REDIS_URL_FILE: `${secrets}/redis-url`,
    SEAL_KEY_API_KEYS_FILE: `${secrets}/seal-key-api-keys`,
    SEAL_KEY_SECOND_FACTORS_FILE: `${secrets}/seal-key-second-factors`,
  });
});

it('reads the public key of the deposits, where there is one', async () => {
  const file = join(folder, 'secrets/deposit-xpub');
  expect(await environment()).not.toHaveProperty('DEPOSIT_XPUB_FILE');
  await writeFile(file, 'xpub');
  expect(await environment()).toMatchObject({ DEPOSIT_XPUB_FILE: file });
  expect(await environment({ DEPOSIT_XPUB: 'xpub' })).not.toHaveProperty('DEPOSIT_XPUB_FILE');
  expect(await environment({ DEPOSIT_XPUB_FILE: '/other' })).toMatchObject({ DEPOSIT_XPUB_FILE: '/other' });
});
