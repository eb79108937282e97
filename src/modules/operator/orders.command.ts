/** `orders`: lists orders, explains one, makes one due, compensates one and closes a leg. */
import { Option, type Command } from 'commander';
import { Ledger } from '../billing/ledger.js';
import type { Credits } from '../../domain/units.js';
import { ORDER_STATUSES, type OrderStatus } from '../../domain/order-state.js';
import { addressArg, choiceArg, creditsArg, integerArg, merchantArg, momentArg, txidArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { trxText, timeText } from '../../domain/text.js';
import { creditsText } from './format.js';
import { LegEnds } from '../pool/leg-ends.js';
import { OrderHistory } from '../orders/order-history.js';
import { Projects } from '../projects/projects.js';
import { TransferOutlook } from '../simulation/transfer-outlook.js';
import { repeatableWith } from './unknown-outcome.js';
import { isInUse } from './order-use.js';
import { orderEntries, orderTable, detailsJson, detailsText } from './order-text.js';

const limitArg = integerArg(1n, 1000n);

interface ListOptions {
  readonly project?: string;
  readonly status?: OrderStatus;
  readonly receiver?: string;
  readonly reference?: string;
  readonly from?: string;
  readonly to?: string;
  readonly due?: boolean;
  readonly attention?: boolean;
  readonly full?: boolean;
  readonly limit: bigint;
}

export function addOrdersCommands(program: Command, context: CliContext): void {
  const orders = program.command('orders').description('inspect and repair orders');
  addList(orders, context);
  orders
    .command('explain <order>')
    .description('show the full history of an order, by number or key')
    .option('--project <merchant>', 'project of the order key', merchantArg)
    .action((order: string, options: { project?: string }) =>
      context.operate(async (parts) => {
        const histories = parts.get(OrderHistory);
        const history = await histories.load(await histories.find(order, options.project));
        const use = isInUse(history) ? await parts.get(TransferOutlook).of(history.order.receiveAddress) : undefined;
        context.print(detailsText(history, use), detailsJson(history, use));
      }),
    );
  orders
    .command('requeue <order>')
    .description('make the next step of an order due now; safe at any time, because steps are idempotent')
    .option('--project <merchant>', 'project of the order key', merchantArg)
    .action(async (order: string, options: { project?: string }) => {
      const act = context.actor('requeued');
      await context.operate(async (parts) => {
        const histories = parts.get(OrderHistory);
        const found = await histories.find(order, options.project);
        const nextRunAt = await histories.requeue(found, act);
        const id = found.id;
        context.print(`Order ${id.toString()} is due since ${timeText(nextRunAt)}.`, { id, next_run_at: nextRunAt });
      });
    });
  addCompensate(orders, context);
  addCloseLeg(orders, context);
}

function addList(orders: Command, context: CliContext): void {
  orders
    .command('list')
    .description('list orders, newest first')
    .option('--project <merchant>', 'only of this project', merchantArg)
    .option('--status <status>', `only with this status: ${ORDER_STATUSES.join(', ')}`, choiceArg(ORDER_STATUSES))
    .option('--receiver <address>', 'only for this address; needs --project', addressArg)
    .option('--reference <reference>', 'only with this reference; needs --project')
    .option(
      '--from <time>',
      'created at or after, such as 2026-11-01 or 2026-11-01T12:00:00Z; needs --project',
      momentArg,
    )
    .option('--to <time>', 'created before; needs --project', momentArg)
    .option('--due', 'only orders with a due step')
    .option('--attention', 'only orders that need attention')
    .option('--full', 'show receiver, energy, duration, price and notes too, one order after another')
    .addOption(new Option('--limit <n>', 'number of entries').argParser(limitArg).default(20n, '20'))
    .action((options: ListOptions) =>
      context.operate(async (parts) => {
        if (options.project !== undefined) await parts.get(Projects).get(options.project);
        const found = await parts.get(OrderHistory).list({
          projectId: options.project,
          status: options.status,
          receiver: options.receiver,
          reference: options.reference,
          from: options.from,
          to: options.to,
          isDue: options.due,
          needsAttention: options.attention,
          limit: Number(options.limit),
        });
        const json = found.map(({ requestHash: _hash, ...order }) => order);
        const names = await parts.get(Projects).namesOf(found.map(({ projectId }) => projectId));
        context.print(options.full === true ? orderEntries(found, names) : orderTable(found, names), { orders: json });
      }),
    );
}

function addCompensate(orders: Command, context: CliContext): void {
  orders
    .command('compensate <order>')
    .description('give credits for an order that fell short, at most its charges; requires --reason')
    .requiredOption('--credits <credits>', '10 000 000 = 1 USD', creditsArg)
    .option(
      '--number <n>',
      'number of the compensation, starting at 1; each number is booked only once (default: the next)',
      integerArg(1n, 1_000_000n),
    )
    .option('--project <merchant>', 'project of the order key', merchantArg)
    .action(async (order: string, options: { credits: Credits; number?: bigint; project?: string }) => {
      const { credits } = options;
      const act = context.actor();
      await context.operate(async (parts) => {
        const ledger = parts.get(Ledger);
        const found = await parts.get(OrderHistory).find(order, options.project);
        const id = found.id;
        const { count, leftCredits } = await ledger.compensated(id);
        const before =
          count === 0
            ? ''
            : ` It was already compensated ${count === 1 ? 'once' : `${count.toString()} times`}: ${creditsText(leftCredits)} is left.`;
        await context.confirm(
          `This gives ${creditsText(credits)} to project ${found.projectId} for order ${id.toString()}. The project can read the reason.${before}`,
        );
        const wanted = options.number === undefined ? undefined : Number(options.number);
        const { isNew, number, balanceCredits } = await repeatableWith(
          `--number ${(wanted ?? count + 1).toString()}`,
          ledger.compensate(id, credits, act, wanted),
        );
        const what = `compensation ${number.toString()} of order ${id.toString()}`;
        context.print(
          `${isNew ? `Booked ${creditsText(credits)} as ${what}.` : `Already booked as ${what}; nothing was added.`}\n` +
            `Balance: ${creditsText(balanceCredits)}.`,
          { id, compensation: number, booked: isNew, credits, credits_balance: balanceCredits },
        );
      });
    });
}

function addCloseLeg(orders: Command, context: CliContext): void {
  orders
    .command('close-leg <order>')
    .description('close a leg whose delegation ended by a foreign act, if the worker does not detect it')
    .option('--leg <n>', 'number of the leg, if several are open', integerArg(1n, 32_767n))
    .option('--txid <txid>', 'the undelegation that ended it; without it, describe the event with --reason', txidArg)
    .option('--project <merchant>', 'project of the order key', merchantArg)
    .action(async (order: string, options: { leg?: bigint; txid?: string; project?: string }) => {
      const act = context.actor(options.txid === undefined ? undefined : `reclaimed by ${options.txid}`);
      await context.operate(async (parts) => {
        const found = await parts.get(OrderHistory).find(order, options.project);
        const id = found.id;
        await context.confirm(`This closes a delegation of order ${id.toString()}: the service will not reclaim it.`);
        const legNo = options.leg === undefined ? undefined : Number(options.leg);
        const ended = await parts.get(LegEnds).close(id, legNo, options.txid, act);
        context.print(
          `Leg ${ended.legNo.toString()} of order ${id.toString()} (${trxText(ended.amountSun)}) ended at ${timeText(ended.at)} by the chain’s clock.`,
          { id, leg: ended.legNo, amount_sun: ended.amountSun, ended_at: ended.at, txid: options.txid ?? null },
        );
      });
    });
}
