/** `keys`: the API keys of projects, and the rotation of MASTER_KEY. */
import type { Command } from 'commander';
import type { CliContext } from './cli-context.js';
import { OperatorError } from '../domain/operator-error.js';
import { addApiKeyCommands } from './api-keys.command.js';
import { KeyRewrap } from './key-rewrap.js';
import { table } from './format.js';

const HELP = `
To rotate MASTER_KEY without refusing a request (both keys open, MASTER_KEY
alone seals):
  1. Set MASTER_KEY_PREVIOUS to the new key, and restart every process in turn.
     All can now open what it will seal.
  2. Exchange the two: MASTER_KEY the new one, MASTER_KEY_PREVIOUS the old one.
     Restart every process in turn.
  3. npm run cli -- keys rewrap
  4. After two minutes, when the last quote under the old key has expired: unset
     MASTER_KEY_PREVIOUS. Restart once more.
Where processes hold derived keys, print them anew before each restart:
\`secrets derive\` under the two keys of the step.`;

export function addKeysCommands(program: Command, context: CliContext): void {
  const keys = program.command('keys').description('API keys of projects; the rotation of MASTER_KEY');
  addApiKeyCommands(keys, context);
  keys
    .command('rewrap')
    .description('seal every API key and pool key under MASTER_KEY, while the service runs')
    .addHelpText('after', HELP)
    .action(async () => {
      const act = context.actor('master key rotated');
      await context.operate(async (parts) => {
        const counts = await parts.get(KeyRewrap).run(act);
        const human = table(
          ['', 'sealed anew', 'current before', 'cannot be opened'],
          counts.map(({ what, rewrapped, current, failed }) => [what, rewrapped, current, failed.length]),
        );
        const failed = counts.flatMap((count) => count.failed);
        if (failed.length === 0) {
          context.print(human, { rewrap: counts });
          return;
        }
        throw new OperatorError(
          `${failed.length.toString()} secrets open under neither MASTER_KEY nor MASTER_KEY_PREVIOUS: ${failed.join(', ')}. ` +
            'The others are sealed under MASTER_KEY.',
        );
      });
    });
}
