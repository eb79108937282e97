/** `secrets`: the keys that single processes take in the place of MASTER_KEY. */
import { Option, type Command } from 'commander';
import { deriveSettings, PURPOSES_OF, type KeyHolder } from '../config/config.js';
import type { CliContext } from './cli-context.js';

const HELP = `
The lines are settings, as secret as MASTER_KEY: write them to a file that
nobody else reads, and give that file to the process in the place of MASTER_KEY.
A process opens with them what it needs and nothing else.
Of a console that is second factors alone, and it takes no MASTER_KEY.
  (umask 077; npm run -s cli -- secrets derive --for api > api.env)
  (umask 077; npm run -s cli -- secrets derive --for worker > worker.env)
  (umask 077; npm run -s cli -- secrets derive --for sender > sender.env)
  (umask 077; npm run -s cli -- secrets derive --for console > console.env)
Under MASTER_KEY_PREVIOUS the keys before are printed too;
\`keys rewrap --help\` has the steps of a rotation.`;

export function addSecretsCommands(program: Command, context: CliContext): void {
  program
    .command('secrets')
    .description('the keys that single processes take in the place of MASTER_KEY')
    .command('derive')
    .description('print the keys that one process needs, as lines of settings; needs MASTER_KEY alone')
    .addOption(new Option('--for <process>', 'the process').choices(Object.keys(PURPOSES_OF)).makeOptionMandatory(true))
    .addHelpText('after', HELP)
    .action(({ for: role }: { for: KeyHolder }) => {
      const settings = deriveSettings(context.terminal.env, role);
      const lines = settings.map(({ name, value }) => `${name}=${value}`);
      context.print(lines.join('\n'), { process: role, settings });
    });
}
