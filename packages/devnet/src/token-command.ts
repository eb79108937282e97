// `devnet token …`: sends an owner transaction to a running chain's control port and prints the answer.
import { parseArgs } from 'node:util';

const LIMIT_MS = 30_000;

/** Members of each action, in command-line order. */
const ACTS: Readonly<Record<string, readonly string[]>> = {
  pause: [],
  unpause: [],
  blacklist: ['holder'],
  unblacklist: ['holder'],
  destroy: ['holder'],
  fees: ['basis_points', 'max_fee'],
  issue: ['amount'],
  redeem: ['amount'],
  deprecate: ['successor'],
  factor: ['energy_factor'],
  show: [],
};

const TOKEN_HELP = `devnet token ACT: what the owner of a local chain's token can do

  show                      what the acts below have changed
  pause | unpause           stops all transfers, and lets them go on
  blacklist ADDRESS         stops an address from sending
  unblacklist ADDRESS
  destroy ADDRESS           destroys what a blacklisted address holds
  fees POINTS MAX           a fee on each transfer: hundredths of a percent (0 to
                            19), and at most so many whole tokens (0 to 49)
  issue AMOUNT              creates tokens, in millionths, for the owner
  redeem AMOUNT             takes them out of the owner's balance
  deprecate ADDRESS         forwards all calls to another token
  factor N                  the dynamic energy factor: 10000 = +100 %, held

  --control URL             the control port (http://127.0.0.1:8092)
  --contract ADDRESS        the token, when genesis gives several an owner_key
`;

const OPTIONS = {
  control: { type: 'string', default: 'http://127.0.0.1:8092' },
  contract: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** Runs the command in `args`. Throws with a one-line remedy. */
export async function runTokenCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  const [act, ...given] = positionals;
  if (values.help === true) {
    process.stdout.write(TOKEN_HELP);
    return;
  }
  const members = ACTS[act ?? ''];
  if (act === undefined || members === undefined)
    throw new Error(`token: one of ${Object.keys(ACTS).join(', ')} is needed`);
  if (given.length !== members.length)
    throw new Error(`token ${act} takes ${members.length === 0 ? 'nothing' : members.join(' and ')}`);
  const body = {
    ...Object.fromEntries(members.map((name, i) => [name, given[i]])),
    ...(values.contract === undefined ? {} : { contract: values.contract }),
  };
  const answer = await ask(values.control, act === 'show' ? 'token' : `token/${act}`, body);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

async function ask(control: string, path: string, body: object): Promise<Record<string, unknown>> {
  let response: Response;
  try {
    response = await fetch(new URL(path, `${control.replace(/\/$/, '')}/`), {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
  } catch {
    throw new Error(`--control ${control} does not answer: start the chain, or name its control port`);
  }
  const answer = (await response.json()) as Record<string, unknown>;
  if (typeof answer['Error'] === 'string') throw new Error(answer['Error'].replace(/^class [\w.]+ : /, ''));
  return answer;
}
