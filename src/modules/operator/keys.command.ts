/** `keys`: the API keys of projects, and the rotation of MASTER_KEY. */
import type { Command } from 'commander';
import type { CliContext } from './cli-context.js';
import { OperatorError } from '../../domain/operator-error.js';
import { addApiKeyCommands } from './api-keys.command.js';
import { KeyRewrap } from './key-rewrap.js';
import { table } from './format.js';

const HELP = `
Rotate MASTER_KEY without refusing requests as follows. Processes decrypt with
both keys but encrypt only with MASTER_KEY.
  1. Set MASTER_KEY_PREVIOUS to the new key, and restart every process in turn.
     All processes can then decrypt with the new key.
  2. Swap the keys: set MASTER_KEY to the new key and MASTER_KEY_PREVIOUS to the
     old key. Restart every process in turn.
  3. npm run cli -- keys rewrap
  4. Wait two minutes, until the last quote under the old key has expired. Then
     unset MASTER_KEY_PREVIOUS, and restart every process once more.
If processes hold derived keys, run \`secrets derive\` with the two keys of the
step before each restart.`;

export function addKeysCommands(program: Command, context: CliContext): void {
  const keys = program.command('keys').description('manage API keys of projects; rotate MASTER_KEY');
  addApiKeyCommands(keys, context);
  keys
    .command('rewrap')
    .description('re-encrypt all secrets with the current MASTER_KEY, while the service runs')
    .addHelpText('after', HELP)
    .action(async () => {
      const act = context.actor('master key rotated');
      await context.operate(async (parts) => {
        const counts = await parts.get(KeyRewrap).run(act);
        const human = table(
          ['', 'rewrapped', 'already current', 'cannot be opened'],
          counts.map(({ what, rewrapped, current, failed }) => [what, rewrapped, current, failed.length]),
        );
        const failed = counts.flatMap((count) => count.failed);
        if (failed.length === 0) {
          context.print(human, { rewrap: counts });
          return;
        }
        throw new OperatorError(
          `${failed.length.toString()} secrets open with neither MASTER_KEY nor MASTER_KEY_PREVIOUS: ${failed.join(', ')}. ` +
            'The others are sealed under MASTER_KEY.',
        );
      });
    });
}
