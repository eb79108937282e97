/** `credits`: top-ups, corrections, and the entries of a balance. */
import { grouped, usdText } from '../../domain/text.js';
import { randomUUID } from 'node:crypto';
import { Option, type Command } from 'commander';
import type { Booking } from '../billing/bookings.js';
import { Ledger } from '../billing/ledger.js';
import type { Credits } from '../../domain/units.js';
import { creditsArg, integerArg, merchantArg, signedCreditsArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { creditsText, table } from './format.js';
import { Projects } from '../projects/projects.js';
import { repeatableWith } from './unknown-outcome.js';

const limitArg = integerArg(1n, 1000n);
const entryArg = integerArg(1n, 2n ** 53n - 1n);

export function addCreditsCommands(program: Command, context: CliContext): void {
  const credits = program.command('credits').description('book and list a project’s credits');
  credits
    .command('topup <merchant>')
    .description('book a payment; each --ref is booked only once')
    .requiredOption('--credits <credits>', '10 000 000 = 1 USD', creditsArg)
    .option('--ref <reference>', 'reference of the payment, visible to the project (default: a new one each time)')
    .action(async (merchant: string, options: { credits: Credits; ref?: string }) => {
      const id = merchantArg(merchant);
      const act = context.actor('top-up');
      await context.operate(async (parts) => {
        const reference = options.ref ?? randomUUID();
        const topUp = parts.get(Ledger).topUp(id, options.credits, reference, act);
        const booking = await repeatableWith(`--ref ${reference}`, topUp);
        printBooking(context, booking, { id, credits: options.credits, reference });
      });
    });
  credits
    .command('adjust <merchant>')
    .description('correct a balance up or down; requires --reason')
    .requiredOption('--credits <credits>', 'amount to add; negative to deduct', signedCreditsArg)
    .option('--ref <reference>', 'reference of the correction, visible to the project (default: a new one each time)')
    .action(async (merchant: string, options: { credits: Credits; ref?: string }) => {
      const id = merchantArg(merchant);
      const act = context.actor();
      await context.confirm(`This changes the balance of ${id} by ${creditsText(options.credits)}.`);
      await context.operate(async (parts) => {
        const reference = options.ref ?? randomUUID();
        const adjustment = parts.get(Ledger).adjust(id, options.credits, reference, act);
        const booking = await repeatableWith(`--ref ${reference}`, adjustment);
        printBooking(context, booking, { id, credits: options.credits, reference });
      });
    });
  credits
    .command('statement <merchant>')
    .description('list a project’s ledger entries, newest first')
    .addOption(new Option('--limit <n>', 'number of entries').argParser(limitArg).default(50n, '50'))
    .option('--before <entry>', 'only entries older than this one', entryArg)
    .action((merchant: string, options: { limit: bigint; before?: bigint }) =>
      statement(context, merchantArg(merchant), options),
    );
}

function printBooking(
  context: CliContext,
  booking: Booking,
  { id, credits, reference }: { readonly id: string; readonly credits: Credits; readonly reference: string },
): void {
  const what = booking.isNew
    ? `Booked ${creditsText(credits)} under ${reference}.`
    : `${reference} is already booked; nothing was added.`;
  context.print(`${what}\nBalance: ${creditsText(booking.balanceCredits)}.`, {
    merchant: id,
    reference,
    booked: booking.isNew,
    credits,
    credits_balance: booking.balanceCredits,
  });
}

async function statement(context: CliContext, id: string, options: { limit: bigint; before?: bigint }): Promise<void> {
  await context.operate(async (parts) => {
    const view = await parts.get(Projects).get(id);
    const entries = await parts.get(Ledger).history(id, Number(options.limit), options.before);
    const human = table(
      ['entry', 'at', 'kind', 'credits', 'USD', 'order', 'by', 'reason'],
      entries.map((entry) => [
        entry.id,
        entry.createdAt,
        entry.kind,
        `${entry.credits > 0n ? '+' : ''}${grouped(entry.credits)}`,
        usdText(entry.credits),
        entry.orderId?.toString(),
        entry.actor,
        entry.reason,
      ]),
      'No entries yet.',
    );
    context.print(`${human}\n\nBalance: ${creditsText(view.balance_credits)}`, {
      merchant: id,
      credits_balance: view.balance_credits,
      entries: entries.map((entry) => ({
        id: entry.id,
        entry_key: entry.entryKey,
        kind: entry.kind,
        credits: entry.credits,
        order_id: entry.orderId ?? null,
        actor: entry.actor ?? null,
        reason: entry.reason ?? null,
        created_at: entry.createdAt,
      })),
    });
  });
}
