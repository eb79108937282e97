// A booking whose answer is lost: what the command says then, and what its repetition does.
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { openForgetfulProxy } from '../../support/database/proxy.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let database: TestDatabase;
let cli: Cli;
let merchant: string;

beforeEach(async () => {
  database = await createTestDatabase();
  cli = cliWith(settings(database.url));
  merchant = ((await cli('--json', 'project', 'create', '--name', 'Shop')).json() as { merchant: string }).merchant;
});

afterEach(() => database.drop());

/** Runs a command whose transaction with this text commits without an answer. */
async function losing(text: string, ...args: string[]) {
  const proxy = await openForgetfulProxy(database.url, text);
  try {
    return await cliWith({ ...settings(database.url), DATABASE_URL: proxy.url })('--json', '--yes', ...args);
  } finally {
    await proxy.close();
  }
}

const balanceOf = async (id: string): Promise<number> =>
  ((await cli('--json', 'project', 'show', id)).json() as { credits_balance: number }).credits_balance;

describe('names the reference under which a repetition books nothing twice', () => {
  it.each(['topup', 'adjust'])('credits %s', async (act) => {
    const command = ['credits', act, merchant, '--credits', '700', '--reason', 'paid'];
    const { code, out, err } = await losing(merchant, ...command);
    expect([code, out]).toEqual([1, '']);
    const { error, msg } = JSON.parse(err) as { error: string; msg: string };
    expect(error).toBe('OUTCOME_UNKNOWN');
    const reference = /Repeat the command with --ref (\S+), which books it only once\.$/.exec(msg)![1]!;
    expect(await balanceOf(merchant)).toBe(700);
    const again = await cli('--json', '--yes', ...command, '--ref', reference);
    expect(again.json()).toMatchObject({ booked: false, reference, credits_balance: 700 });
  });
});

it('project create, which shows the key of the project that exists', async () => {
  const { code, out, err } = await losing(
    'project-create:',
    'project',
    'create',
    '--name',
    'Other',
    '--credits',
    '700',
  );
  expect(code).toBe(1);
  const { merchant: made, api_key: key } = JSON.parse(out) as { merchant: string; api_key: string };
  expect(key).toMatch(/^[0-9a-f]{48}$/);
  const { error, msg } = JSON.parse(err) as { error: string; msg: string };
  expect(error).toBe('OUTCOME_UNKNOWN');
  const [, command] = /Run `(.*)`, which books them only once\.$/.exec(msg)!;
  expect(await balanceOf(made)).toBe(700);
  const again = await cli('--json', ...command!.split(' '));
  expect(again.json()).toMatchObject({ booked: false, credits_balance: 700 });
});
