/** `secrets`: derived keys for single processes, used instead of MASTER_KEY. */
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Option, type Command } from 'commander';
import { deriveSettings, PURPOSES_OF, type KeyHolder } from '../config/config.js';
import { reasonOf } from '../domain/errors.js';
import { usageError } from '../domain/operator-error.js';
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
With --into each key is written to a file of that folder instead, as systemd's
credentials and settings with _FILE want it: SEAL_KEY_QUOTES to seal-key-quotes.
Under MASTER_KEY_PREVIOUS the keys before are printed too;
\`keys rewrap --help\` has the steps of a rotation.`;

export function addSecretsCommands(program: Command, context: CliContext): void {
  program
    .command('secrets')
    .description('the keys that single processes take in the place of MASTER_KEY')
    .command('derive')
    .description('print the keys that one process needs, as lines of settings; needs MASTER_KEY alone')
    .addOption(new Option('--for <process>', 'the process').choices(Object.keys(PURPOSES_OF)).makeOptionMandatory(true))
    .option('--into <folder>', 'write a file for each key into this folder, mode 0600, and print their names')
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
      throw usageError(`--into: ${file} could not be written (${reasonOf(error)}).`);
    }
    files.push(file);
  }
  return files;
}
