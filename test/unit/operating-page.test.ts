// The operators' page against the command line: every command it names exists and explains itself.
import 'reflect-metadata';
import { runCli } from '../../src/operator/cli.js';
import { commandsIn, page } from '../operating-page.js';

const named = [
  ...new Set([...page.matchAll(/(?:`|^ *)cli ([a-z][a-z-]*(?: [a-z][a-z-]*)?)/gm)].map((match) => match[1]!)),
];

async function helpOf(command: string): Promise<{ code: number; text: string }> {
  let text = '';
  const print = (part: string): void => {
    text += part;
  };
  const code = await runCli([...command.split(' '), '--help'], {
    env: {},
    user: '',
    out: print,
    err: print,
    ask: undefined,
  });
  return { code, text };
}

test('the page names commands', () => {
  expect(named.length).toBeGreaterThan(15);
});

test.each(named)('cli %s exists and explains itself', async (command) => {
  const { code, text } = await helpOf(command);
  expect({ code, usage: text.split('\n')[0] }).toEqual({
    code: 0,
    usage: expect.stringContaining(`npm run cli -- ${command}`) as string,
  });
});

test.each(commandsIn(page).filter((line) => line.includes(' --')))('%s has its options', async (line) => {
  const words = line.split(' ').slice(1);
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  const { text } = await helpOf(words.slice(0, Math.min(end, 2)).join(' '));
  const known = new Set(text.match(/(?<= )--[a-z-]+/g));
  expect(words.filter((word) => word.startsWith('--')).filter((option) => !known.has(option))).toEqual([]);
});

test.each(['orders list', 'credits statement', 'credits adjust', 'price remove', 'pool resume'])(
  'cli %s explains itself, defaults included',
  async (command) => {
    expect((await helpOf(command)).code).toBe(0);
  },
);
