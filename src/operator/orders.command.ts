/** `orders`: lists orders, explains one, makes one due, compensates one and closes a leg. */
import { Option, type Command } from 'commander';
import { Ledger } from '../billing/ledger.js';
import type { Credits } from '../domain/units.js';
import { ORDER_STATUSES, type OrderStatus } from '../domain/order-state.js';
import { addressArg, choiceArg, creditsArg, integerArg, merchantArg, momentArg, txidArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { trxText, timeText } from '../domain/text.js';
import { creditsText } from './format.js';
import { LegEnds } from '../pool/leg-ends.js';
import { OrderHistory } from '../orders/order-history.js';
import { TransferOutlook } from '../simulation/transfer-outlook.js';
import { isInUse } from './order-use.js';
import { orderTable, detailsJson, detailsText } from './order-text.js';

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
  readonly limit: bigint;
}

export function addOrdersCommands(program: Command, context: CliContext): void {
  const orders = program.command('orders').description('what was sold');
  orders
    .command('list')
    .description('orders, newest first')
    .option('--project <merchant>', 'of one project', merchantArg)
    .option('--status <status>', `one of ${ORDER_STATUSES.join(', ')}`, choiceArg(ORDER_STATUSES))
    .option('--receiver <address>', 'for one address, of one project', addressArg)
    .option('--reference <reference>', 'of one reference, of one project')
    .option('--from <time>', 'created then or later, of one project: 2026-11-01 or 2026-11-01T12:00:00Z', momentArg)
    .option('--to <time>', 'created before, of one project', momentArg)
    .option('--due', 'whose next step is due')
    .option('--attention', 'that need attention')
    .addOption(new Option('--limit <n>', 'how many').argParser(limitArg).default(20n, '20'))
    .action((options: ListOptions) =>
      context.operate(async (parts) => {
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
        context.print(orderTable(found), { orders: json });
      }),
    );
  orders
    .command('explain <order>')
    .description('the whole history of one order, by its number or key')
    .option('--project <merchant>', 'the project whose key it is', merchantArg)
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
    .description('make an order’s next step due now; safe at any time, since every step may be repeated')
    .option('--project <merchant>', 'the project whose key it is', merchantArg)
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

function addCompensate(orders: Command, context: CliContext): void {
  orders
    .command('compensate <order>')
    .description('give credits for an order that was not what was sold, at most what it cost; wants a --reason')
    .requiredOption('--credits <credits>', '10 000 000 = 1 USD', creditsArg)
    .option(
      '--number <n>',
      'which compensation of the order this is, 1 the first; one that is booked is not booked again (default: the next)',
      integerArg(1n, 1_000_000n),
    )
    .option('--project <merchant>', 'the project whose key it is', merchantArg)
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
            : ` It was compensated ${count === 1 ? 'once' : `${count.toString()} times`} before: ${creditsText(leftCredits)} is left.`;
        await context.confirm(
          `This gives ${creditsText(credits)} to project ${found.projectId} for order ${id.toString()}; the reason is shown to it.${before}`,
        );
        const wanted = options.number === undefined ? undefined : Number(options.number);
        const { isNew, number, balanceCredits } = await ledger.compensate(id, credits, act, wanted);
        const what = `compensation ${number.toString()} of order ${id.toString()}`;
        context.print(
          `${isNew ? `Booked ${creditsText(credits)} as ${what}.` : `It was booked before, as ${what}; nothing was added.`}\n` +
            `Balance: ${creditsText(balanceCredits)}.`,
          { id, compensation: number, booked: isNew, credits, credits_balance: balanceCredits },
        );
      });
    });
}

function addCloseLeg(orders: Command, context: CliContext): void {
  orders
    .command('close-leg <order>')
    .description('close a leg whose delegation a foreign act ended, when the worker does not find out by itself')
    .option('--leg <n>', 'which, when several are open', integerArg(1n, 32_767n))
    .option('--txid <txid>', 'the undelegation that took it back; without it, say what happened with --reason', txidArg)
    .option('--project <merchant>', 'the project whose key it is', merchantArg)
    .action(async (order: string, options: { leg?: bigint; txid?: string; project?: string }) => {
      const act = context.actor(options.txid === undefined ? undefined : `reclaimed by ${options.txid}`);
      await context.operate(async (parts) => {
        const found = await parts.get(OrderHistory).find(order, options.project);
        const id = found.id;
        await context.confirm(
          `This ends a delegation of order ${id.toString()}: the service will not take it back any more.`,
        );
        const legNo = options.leg === undefined ? undefined : Number(options.leg);
        const ended = await parts.get(LegEnds).close(id, legNo, options.txid, act);
        context.print(
          `Leg ${ended.legNo.toString()} of order ${id.toString()} (${trxText(ended.amountSun)}) has ended at ${timeText(ended.at)} of the chain.`,
          { id, leg: ended.legNo, amount_sun: ended.amountSun, ended_at: ended.at, txid: options.txid ?? null },
        );
      });
    });
}
