/** `secrets`: derived keys for single processes, used instead of MASTER_KEY. */
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Option, type Command } from 'commander';
import { deriveSettings, PURPOSES_OF, type KeyHolder } from '../../platform/config/config.js';
import { reasonOf } from '../../domain/errors.js';
import { usageError } from '../../domain/operator-error.js';
import type { CliContext } from './cli-context.js';

const HELP = `
The output is as secret as MASTER_KEY. Write it to a file that only the process
can read, and give it to the process instead of MASTER_KEY. With these keys, a
process can decrypt only the secrets that it needs. A console needs only second
factors and refuses MASTER_KEY.
  (umask 077; npm run -s cli -- secrets derive --for api > api.env)
  (umask 077; npm run -s cli -- secrets derive --for worker > worker.env)
  (umask 077; npm run -s cli -- secrets derive --for sender > sender.env)
  (umask 077; npm run -s cli -- secrets derive --for console > console.env)
With --into, each key goes to its own file in that folder instead, as systemd
credentials and settings with _FILE require: SEAL_KEY_QUOTES to seal-key-quotes.
If MASTER_KEY_PREVIOUS is set, the previous keys are printed as well.
\`keys rewrap --help\` lists the steps of a rotation.`;

export function addSecretsCommands(program: Command, context: CliContext): void {
  program
    .command('secrets')
    .description('derive the keys that single processes take instead of MASTER_KEY')
    .command('derive')
    .description('print the keys of one process as settings; needs only MASTER_KEY')
    .addOption(
      new Option('--for <process>', 'name of the process').choices(Object.keys(PURPOSES_OF)).makeOptionMandatory(true),
    )
    .option('--into <folder>', 'write each key to a file in this folder, mode 0600, and print the file names')
    .addHelpText('after', HELP)
    .action(async ({ for: role, into }: { for: KeyHolder; into?: string }) => {
      const settings = deriveSettings(context.terminal.env, role);
      if (into !== undefined) {
        const files = await writeKeys(into, settings);
        context.print(files.join('\n'), { process: role, files });
        return;
      }
      const lines = settings.map(({ name, value }) => `${name}=${value}`);
      context.print(lines.join('\n'), { process: role, settings });
    });
}

/**
 * Writes each setting's value to a file named after it, and returns the paths. Replaces an existing file atomically.
 */
async function writeKeys(
  folder: string,
  settings: readonly { readonly name: string; readonly value: string }[],
): Promise<string[]> {
  const files: string[] = [];
  for (const { name, value } of settings) {
    const file = join(folder, name.toLowerCase().replaceAll('_', '-'));
    const unfinished = `${file}.${process.pid.toString()}`;
    try {
      await writeFile(unfinished, `${value}\n`, { mode: 0o600, flag: 'wx' });
      await rename(unfinished, file);
    } catch (error) {
      throw usageError(`Failed to write ${file} for --into (${reasonOf(error)}).`);
    }
    files.push(file);
  }
  return files;
}
