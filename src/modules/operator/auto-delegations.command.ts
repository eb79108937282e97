/** `auto-delegations list|show|set|wake|delete`: a project's addresses that are kept supplied with energy. */
import { Option, type Command } from 'commander';
import type { INestApplicationContext } from '@nestjs/common';
import {
  AUTO_DELEGATION_STATUSES,
  autoDelegationBody,
  AutoDelegationRequest,
  termsOf,
  type AutoDelegationStatus,
} from '../auto-delegations/auto-delegations.dto.js';
import { AutoDelegations, type ShownAutoDelegation } from '../auto-delegations/auto-delegations.service.js';
import { Config } from '../../platform/config/config.js';
import { OperatorError } from '../../domain/operator-error.js';
import { longestDurationSec } from '../../domain/price.js';
import { durationText } from '../../domain/text.js';
import { RequestPipe } from '../../platform/http/body/request.pipe.js';
import { Projects } from '../projects/projects.js';
import { ApiKeys } from '../projects/api-keys.js';
import { Prices } from '../quotes/prices.js';
import { audited } from '../../platform/database/audit-log.js';
import { addressArg, choiceArg, integerArg, merchantArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { fields, table } from './format.js';

const statusArg = choiceArg(AUTO_DELEGATION_STATUSES);
const limitArg = integerArg(1n, 1000n);
const amountArg = integerArg(0n, 2n ** 53n - 1n);

interface Options {
  readonly keepEnergy: bigint;
  readonly dailyCap: bigint;
  readonly refillBelow?: bigint;
  readonly duration?: bigint;
  readonly maxSunPerEnergy?: bigint;
  readonly idleAfter?: bigint;
  readonly until?: string;
}

export function addAutoDelegationCommands(program: Command, context: CliContext): void {
  const group = program
    .command('auto-delegations')
    .description('manage auto-delegations: addresses that are kept supplied with energy');
  addReads(group, context);
  addSet(group, context);
  addActs(group, context);
}

function addReads(group: Command, context: CliContext): void {
  group
    .command('list <merchant>')
    .description('list a project’s auto-delegations, newest first')
    .option('--status <status>', `only with this status: ${AUTO_DELEGATION_STATUSES.join(', ')}`, statusArg)
    .addOption(new Option('--limit <n>', 'number of entries').argParser(limitArg).default(100n, '100'))
    .action(async (merchant: string, options: { status?: AutoDelegationStatus; limit: bigint }) => {
      const request = { projectId: merchantArg(merchant), status: options.status, limit: Number(options.limit) };
      await context.operate(async (parts) => {
        await parts.get(Projects).get(request.projectId);
        const { items } = await parts.get(AutoDelegations).page(request);
        const bodies = items.map(({ row, shown }) => autoDelegationBody(row, shown));
        const human = table(
          ['address', 'status', 'keep', 'usable', 'purchases', 'spent today'],
          bodies.map((body) => [
            body.address,
            body.pause === undefined ? body.status : `${body.status} (${body.pause.reason})`,
            body.keep_energy,
            body.usable_energy ?? '',
            body.purchases,
            body.spent_today_credits,
          ]),
          'No auto-delegations.',
        );
        context.print(human, { auto_delegations: items.map(jsonOf) });
      });
    });
  group
    .command('show <merchant> <address>')
    .description('show one auto-delegation')
    .action(async (merchant: string, address: string) => {
      const [projectId, of] = [merchantArg(merchant), addressArg(address)];
      await context.operate(async (parts) => {
        printOne(context, await parts.get(AutoDelegations).get(projectId, of));
      });
    });
}

function addSet(group: Command, context: CliContext): void {
  group
    .command('set <merchant> <address>')
    .description('set an auto-delegation; replaces all settings. The primary API key pays, and the cost is not checked')
    .requiredOption('--keep-energy <energy>', 'energy to keep; a refill restores it', amountArg)
    .requiredOption('--daily-cap <credits>', 'the most it may spend per UTC day', amountArg)
    .option('--refill-below <energy>', 'refill when less is usable (default: 80 % of the energy to keep)', amountArg)
    .option('--duration <seconds>', 'duration of each rental (default: a day, or the longest on sale)', amountArg)
    .option('--max-sun-per-energy <sun>', 'maximum price of a refill', amountArg)
    .option('--idle-after <seconds>', 'sleep when unused for this long (default: a day)', amountArg)
    .option('--until <time>', 'end at this UTC time, by the chain’s clock')
    .action(async (merchant: string, address: string, options: Options) => {
      const [projectId, of] = [merchantArg(merchant), addressArg(address)];
      const witness = audited(context.actor('auto-delegation set'));
      await context.operate(async (parts) => {
        const key = await parts.get(ApiKeys).get(projectId);
        if (key.revoked_at !== null) {
          throw new OperatorError(
            'The primary key is revoked, so nothing could be bought. Run `project rotate-key` first.',
          );
        }
        const terms = await judged(parts, options);
        const whose = { projectId, address: of, apiKeyId: key.id };
        const notJudged = () => ({ costs: undefined });
        printOne(context, await parts.get(AutoDelegations).set(whose, terms, notJudged, witness));
      });
    });
}

function addActs(group: Command, context: CliContext): void {
  group
    .command('wake <merchant> <address>')
    .description('check it now, as if the address had just been used')
    .action(async (merchant: string, address: string) => {
      const [projectId, of] = [merchantArg(merchant), addressArg(address)];
      const witness = audited(context.actor('auto-delegation woken'));
      await context.operate(async (parts) => {
        printOne(context, await parts.get(AutoDelegations).wake(projectId, of, witness));
      });
    });
  group
    .command('delete <merchant> <address>')
    .description('delete an auto-delegation; running rentals continue to their end')
    .action(async (merchant: string, address: string) => {
      const [projectId, of] = [merchantArg(merchant), addressArg(address)];
      const witness = audited(context.actor('auto-delegation deleted'));
      await context.confirm(`This ends the auto-delegation of ${of}.`);
      await context.operate(async (parts) => {
        await parts.get(AutoDelegations).delete(projectId, of, witness);
        context.print(`The auto-delegation of ${of} is deleted.`, { merchant: projectId, address: of, deleted: true });
      });
    });
}

/** Validates by the rules of an HTTP request. Throws ApiError INVALID_REQUEST. */
async function judged(parts: INestApplicationContext, options: Options) {
  const longestSec = longestDurationSec(await parts.get(Prices).list());
  const pipe = new RequestPipe({ sales: parts.get(Config).sales, sale: { longestSec } });
  const sent = Object.entries({
    keep_energy: options.keepEnergy,
    daily_cap_credits: options.dailyCap,
    refill_below: options.refillBelow,
    duration_sec: options.duration,
    max_sun_per_energy: options.maxSunPerEnergy,
    idle_after_sec: options.idleAfter,
    until: options.until,
  }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'bigint' ? Number(value) : value]],
  );
  const metadata = { type: 'body', metatype: AutoDelegationRequest } as const;
  const request = (await pipe.transform(Object.fromEntries(sent), metadata)) as AutoDelegationRequest;
  return termsOf(request, longestSec);
}

function jsonOf({ row, shown }: ShownAutoDelegation): Record<string, unknown> {
  return { ...autoDelegationBody(row, shown), api_key: row.api_key_id };
}

function rentalTimeOf({ auto_duration: isChosen }: ShownAutoDelegation['row'], duration: string): string {
  return isChosen === true ? `${duration} at first, then as long as the measured uses make cheapest` : duration;
}

function printOne(context: CliContext, found: ShownAutoDelegation): void {
  const body = autoDelegationBody(found.row, found.shown);
  const human = fields([
    ['Auto-delegation', body.id],
    ['Address', body.address],
    ['Status', body.status],
    ['Paused', body.pause && `${body.pause.reason}, since ${body.pause.since}`],
    ['Keep', body.keep_energy],
    ['Refill below', body.refill_below],
    ['Sized by transfer to', body.transfer_to],
    ['Rent for', rentalTimeOf(found.row, durationText(body.duration_sec))],
    ['Maximum price', body.max_sun_per_energy && `${body.max_sun_per_energy.toString()} sun per energy`],
    ['Daily cap', body.daily_cap_credits],
    ['Spent today', body.spent_today_credits],
    ['Sleeps after', durationText(body.idle_after_sec)],
    ['Until', body.until],
    ['Usable', body.usable_energy],
    ['Checked', body.checked_at],
    ['Purchases', body.purchases],
    ['Open order', body.open_order],
    ['Paid by key', found.row.api_key_id],
    ['Changed', body.changed_at],
  ]);
  context.print(human, jsonOf(found));
}
