// The CLI's help, as it appears in a terminal of 80 columns.
import 'reflect-metadata';
import { Command } from 'commander';
import { CliContext } from '../../../src/modules/operator/cli-context.js';
import { COMMANDS, runCli } from '../../../src/modules/operator/cli.js';
import { sources } from '../../support/docs/documents.js';

const COLUMNS = 80;

async function said(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const answer = { out: '', err: '' };
  const terminal = {
    env: {},
    user: '',
    out: (text: string) => void (answer.out += text),
    err: (text: string) => void (answer.err += text),
    ask: undefined,
  };
  return { code: await runCli(args, terminal), ...answer };
}

function tooWide(text: string): string[] {
  return text.split('\n').filter((line) => line.length > COLUMNS);
}

/** Returns the names under “Commands:” of a help text. */
function commandsIn(help: string): string[] {
  const [, list = ''] = help.split('\nCommands:\n');
  return [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map((match) => match[1]!).filter((name) => name !== 'help');
}

async function everyCommand(): Promise<string[][]> {
  const first = commandsIn((await said('--help')).out);
  const second: string[][][] = [];
  // One after another: Jest cannot load modules for several at once.
  for (const name of first) second.push(commandsIn((await said(name, '--help')).out).map((sub) => [name, sub]));
  return [...first.map((name) => [name]), ...second.flat()];
}

it('prints the help of every command in 80 columns', async () => {
  const commands = await everyCommand();
  expect(commands.length).toBeGreaterThan(40);
  for (const command of commands) {
    const { code, out } = await said(...command, '--help');
    expect({ command, code, wide: tooWide(out) }).toEqual({ command, code: 0, wide: [] });
    expect(out).toContain(`npm run cli -- ${command.join(' ')}`);
  }
});

it('lists each command as its module describes it, without loading the module', async () => {
  const { out } = await said('--help');
  const program = new Command('npm run cli --').configureHelp({ showGlobalOptions: true, sortSubcommands: true });
  const context = new CliContext({ env: {}, user: '', out: () => undefined, err: () => undefined, ask: undefined });
  for (const { load } of COMMANDS) (await load())(program, context);
  program.configureOutput({ getOutHelpWidth: () => COLUMNS });
  const [, listed] = out.split('\nCommands:\n');
  expect(listed).toBe(program.helpInformation().split('\nCommands:\n')[1]);
  expect(listed).toContain('explain-transfer [options] <txid>');
});

it('prints the help of every other program in 80 columns', () => {
  const helps = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/const HELP = `([^]*?)`;/g)].map((match) => ({ path, wide: tooWide(match[1]!) })),
  );
  expect(helps.length).toBeGreaterThan(6);
  expect(helps.filter(({ wide }) => wide.length > 0)).toEqual([]);
});

it.each([['nonsense'], ['pool', 'nonsense'], ['pool', 'lst'], ['orders', 'list', '--nonsense']])(
  'points from a typo (%s %s) to the list of valid words',
  async (...args) => {
    const { code, err } = await said(...args);
    expect(code).toBe(2);
    expect(err).toMatch(/^unknown (command|option) '.*'\n(\(Did you mean .*\)\n)?Run --help for the list\.\n$/);
  },
);

it('the doctor names each missing setting with its remedy, in 80 columns', async () => {
  const { code, out, err } = await said('doctor');
  expect([code, err]).toEqual([1, '6 faults.\n']);
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'TRON_FULL_NODE_URLS', 'TOKEN_CONTRACT', 'MASTER_KEY'])
    expect(out).toMatch(new RegExp(`^✗ settings +${name} is required`, 'm'));
  expect(tooWide(out)).toEqual([]);
});
