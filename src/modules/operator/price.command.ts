/** `price`: the price table of rentals by duration. */
import type { INestApplicationContext } from '@nestjs/common';
import type { Command } from 'commander';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { slipsIn } from '../../domain/price.js';
import { integerArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { OperatorError } from '../../domain/operator-error.js';
import { durationText } from '../../domain/text.js';
import { table } from './format.js';
import { addRateCommands } from './rate.command.js';
import { Prices } from '../quotes/prices.js';

const durationArg = integerArg(1n, 31_536_000n);
const priceArg = integerArg(1n, 1_000_000n);

export function addPriceCommands(program: Command, context: CliContext): void {
  const price = program.command('price').description('manage the price table by rental duration');
  price
    .command('list')
    .description('show the price table')
    .action(() =>
      context.operate(async (parts) => {
        const rows = await parts.get(Prices).list();
        const human = table(
          ['up to', 'seconds', 'sun per energy'],
          rows.map((row) => [durationText(row.durationMaxSec), row.durationMaxSec, row.sunPerEnergy]),
        );
        context.print(human, { prices: rows });
      }),
    );
  price
    .command('set')
    .description('set the price of rentals up to SEC; new quotes use it within seconds, held quotes keep theirs')
    .requiredOption('--duration-max <sec>', 'longest duration of the row, in seconds', durationArg)
    .requiredOption('--sun-per-energy <sun>', 'price of one energy, in sun', priceArg)
    .option('--force', 'set the price despite warnings')
    .action(async (options: { durationMax: bigint; sunPerEnergy: bigint; force?: true }) => {
      const { sunPerEnergy } = options;
      const durationMaxSec = Number(options.durationMax);
      const act = context.actor('price changed');
      const text = `rentals up to ${durationText(durationMaxSec)} for ${sunPerEnergy.toString()} sun per energy`;
      await context.confirm(`This sells ${text}.`);
      await context.operate(async (parts) => {
        const feeSun = await burnPriceOf(parts);
        const row = { durationMaxSec, sunPerEnergy };
        const doubts = slipsIn(row, await parts.get(Prices).list(), feeSun);
        if (doubts.length > 0 && options.force !== true) {
          throw new OperatorError(`${doubts.join(' ')} Nothing was changed. Pass --force to set the price anyway.`);
        }
        const before = await parts.get(Prices).set(durationMaxSec, sunPerEnergy, act);
        context.print(`Selling ${text} (before: ${before?.toString() ?? 'no row'}).`, {
          duration_max_sec: durationMaxSec,
          sun_per_energy: sunPerEnergy,
          sun_per_energy_before: before ?? null,
        });
        for (const doubt of doubts) context.warn(doubt);
        if (feeSun === undefined) {
          context.warn('The chain did not answer, so the price was not compared with its burn price.');
        }
      });
    });
  addRateCommands(price, context);
  price
    .command('remove')
    .description('remove a row; its durations then cost the price of the next longer row')
    .requiredOption('--duration-max <sec>', 'duration of the row, in seconds', durationArg)
    .action(async (options: { durationMax: bigint }) => {
      const durationMaxSec = Number(options.durationMax);
      const act = context.actor('price row removed');
      await context.confirm(`This removes the price row of ${durationText(durationMaxSec)}.`);
      await context.operate(async (parts) => {
        await parts.get(Prices).remove(durationMaxSec, act);
        context.print(`Removed the row of ${durationText(durationMaxSec)}.`, { removed: durationMaxSec });
      });
    });
}

/** Returns the sun burnt per energy on chain; undefined while no node answers. */
async function burnPriceOf(parts: INestApplicationContext): Promise<bigint | undefined> {
  const parameters = await parts
    .get(TronClient)
    .chainParameters(parts.get(Config).market.parameterBounds)
    .catch(() => undefined);
  return parameters?.energyFeeSun;
}
