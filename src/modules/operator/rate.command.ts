/** `price rate` and `price confirm-rate`: the TRX/USD rate used for charges, and a held rate. */
import type { Command } from 'commander';
import { HeldRates } from '../billing/held-rates.js';
import { Config } from '../../platform/config/config.js';
import { rateText } from '../../domain/conversion.js';
import type { CliContext } from './cli-context.js';
import { OperatorError } from '../../domain/operator-error.js';

const ago = (sec: number): string => `${Math.max(0, Math.round(sec)).toString()} s ago`;

export function addRateCommands(price: Command, context: CliContext): void {
  price
    .command('rate')
    .description('show the TRX/USD rate in use, and the held rate, if any')
    .action(() =>
      context.operate(async (parts) => {
        const rates = parts.get(HeldRates);
        const [stored, held] = [await rates.stored(), await rates.readHeld()];
        const human = [
          stored === undefined
            ? 'No rate has been read yet: charges use FALLBACK_TRX_USD.'
            : `${rateText(stored.rate)} USD per TRX, read ${ago(stored.ageSec)}.`,
          ...(held === undefined
            ? []
            : [
                `Held rate: ${rateText(held.rate)} USD per TRX, first read ${ago(held.heldSec)}, last ${ago(held.seenSec)}. ` +
                  'Confirm it with `price confirm-rate`. It is used automatically once it has persisted for an hour.',
              ]),
        ];
        context.print(human.join('\n'), {
          rate: stored === undefined ? null : rateText(stored.rate),
          age_sec: stored === undefined ? null : Math.round(stored.ageSec),
          held_rate: held === undefined ? null : rateText(held.rate),
          held_sec: held === undefined ? null : Math.round(held.heldSec),
        });
      }),
    );
  price
    .command('confirm-rate')
    .description('use the held rate; all processes follow within seconds')
    .action(async () => {
      const act = context.actor('rate confirmed');
      await context.operate(async (parts) => {
        const rates = parts.get(HeldRates);
        const [stored, held] = [await rates.stored(), await rates.readHeld()];
        if (held === undefined) throw new OperatorError('No rate is held.', 1, 'NOT_FOUND');
        const before = stored === undefined ? 'none before' : `before: ${rateText(stored.rate)}`;
        await context.confirm(`This charges at ${rateText(held.rate)} USD per TRX (${before}).`);
        if (!(await rates.confirm(held.rate, parts.get(Config).rates.fallback, act))) {
          throw new OperatorError('The held rate has changed. Check it with `price rate`.');
        }
        context.print(`Charging at ${rateText(held.rate)} USD per TRX (${before}).`, {
          rate: rateText(held.rate),
          rate_before: stored === undefined ? null : rateText(stored.rate),
        });
      });
    });
}
