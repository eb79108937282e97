/** `price`: the price table of rentals by duration. */
import type { INestApplicationContext } from '@nestjs/common';
import type { Command } from 'commander';
import type { ChainParameters } from '../../platform/chain/chain-parameters.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { bandwidthTable, slipsIn } from '../../domain/price.js';
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
          ['up to', 'seconds', 'sun per energy', 'sun per bandwidth'],
          rows.map((row) => [
            durationText(row.durationMaxSec),
            row.durationMaxSec,
            row.sunPerEnergy,
            row.sunPerBandwidth ?? '–',
          ]),
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
    .action(async (options: EnergyOptions) => {
      await setEnergyPrice(context, options);
    });
  addBandwidthCommand(price, context);
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

interface EnergyOptions {
  readonly durationMax: bigint;
  readonly sunPerEnergy: bigint;
  readonly force?: true;
}

async function setEnergyPrice(context: CliContext, options: EnergyOptions): Promise<void> {
  const { sunPerEnergy } = options;
  const durationMaxSec = Number(options.durationMax);
  const act = context.actor('price changed');
  const text = `rentals up to ${durationText(durationMaxSec)} for ${sunPerEnergy.toString()} sun per energy`;
  await context.confirm(`This sells ${text}.`);
  await context.operate(async (parts) => {
    const feeSun = (await feesOf(parts))?.energyFeeSun;
    const row = { durationMaxSec, sunPerEnergy };
    const doubts = slipsIn(row, { unit: 'energy', rows: await parts.get(Prices).list() }, feeSun);
    assertNoDoubts(doubts, options);
    const before = await parts.get(Prices).set(durationMaxSec, sunPerEnergy, act);
    context.print(`Selling ${text} (before: ${before?.toString() ?? 'no row'}).`, {
      duration_max_sec: durationMaxSec,
      sun_per_energy: sunPerEnergy,
      sun_per_energy_before: before ?? null,
    });
    warnOf(context, doubts, feeSun !== undefined);
  });
}

function addBandwidthCommand(price: Command, context: CliContext): void {
  price
    .command('set-bandwidth')
    .description('set the price of bandwidth in a row; without --sun-per-bandwidth, sell none for its durations')
    .requiredOption('--duration-max <sec>', 'duration of the row, in seconds', durationArg)
    .option('--sun-per-bandwidth <sun>', 'price of one unit of bandwidth, in sun', priceArg)
    .option('--force', 'set the price despite warnings')
    .action(async (options: BandwidthOptions) => {
      await setBandwidthPrice(context, options);
    });
}

interface BandwidthOptions {
  readonly durationMax: bigint;
  readonly sunPerBandwidth?: bigint;
  readonly force?: true;
}

async function setBandwidthPrice(context: CliContext, options: BandwidthOptions): Promise<void> {
  const { sunPerBandwidth: price = null } = options;
  const durationMaxSec = Number(options.durationMax);
  const act = context.actor('price of bandwidth changed');
  const span = `rentals up to ${durationText(durationMaxSec)}`;
  const text =
    price === null ? `no bandwidth for ${span}` : `bandwidth of ${span} for ${price.toString()} sun per unit`;
  await context.confirm(`This sells ${text}.`);
  await context.operate(async (parts) => {
    const feeSun = (await feesOf(parts))?.transactionFeeSunPerByte;
    const table = bandwidthTable(await parts.get(Prices).list());
    const doubts = price === null ? [] : slipsIn({ durationMaxSec, sunPerEnergy: price }, table, feeSun);
    assertNoDoubts(doubts, options);
    const before = await parts.get(Prices).setBandwidth(durationMaxSec, price, act);
    context.print(`Selling ${text} (before: ${before?.toString() ?? 'none'}).`, {
      duration_max_sec: durationMaxSec,
      sun_per_bandwidth: price,
      sun_per_bandwidth_before: before,
    });
    warnOf(context, doubts, price === null || feeSun !== undefined);
  });
}

/** Throws OperatorError if a new price may be a mistake, unless it is forced. */
function assertNoDoubts(doubts: readonly string[], { force }: { readonly force?: true }): void {
  if (doubts.length === 0 || force === true) return;
  throw new OperatorError(`${doubts.join(' ')} Nothing was changed. Pass --force to set the price anyway.`);
}

function warnOf(context: CliContext, doubts: readonly string[], isCompared: boolean): void {
  for (const doubt of doubts) context.warn(doubt);
  if (!isCompared) context.warn('The chain did not answer, so the price was not compared with its burn price.');
}

/** Returns the chain's fees; undefined while no node answers. */
async function feesOf(parts: INestApplicationContext): Promise<ChainParameters | undefined> {
  return parts
    .get(TronClient)
    .chainParameters(parts.get(Config).market.parameterBounds)
    .catch(() => undefined);
}
