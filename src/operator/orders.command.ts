/** `orders`: what was sold, the whole story of one order, and a push for one that waits. */
import { Option, type Command } from 'commander';
import { ORDER_STATUSES, type OrderStatus } from '../orders/order-state.js';
import { choiceArg, integerArg, merchantArg } from './arguments.js';
import type { Desk } from './desk.js';
import { timeText } from './layout.js';
import { OrderStories } from './order-story.js';
import { orderTable, storyJson, storyText } from './order-text.js';

const limitArg = integerArg(1n, 1000n);

interface ListOptions {
  readonly project?: string;
  readonly status?: OrderStatus;
  readonly due?: boolean;
  readonly attention?: boolean;
  readonly limit: bigint;
}

export function addOrdersCommands(program: Command, desk: Desk): void {
  const orders = program.command('orders').description('what was sold');
  orders
    .command('list')
    .description('orders, newest first')
    .option('--project <merchant>', 'of one project', merchantArg)
    .option('--status <status>', `one of ${ORDER_STATUSES.join(', ')}`, choiceArg(ORDER_STATUSES))
    .option('--due', 'whose next step is due')
    .option('--attention', 'that need attention')
    .addOption(new Option('--limit <n>', 'how many').argParser(limitArg).default(20n, '20'))
    .action((options: ListOptions) =>
      desk.operate(async (parts) => {
        const found = await parts.get(OrderStories).list({
          projectId: options.project,
          status: options.status,
          isDue: options.due,
          needsAttention: options.attention,
          limit: Number(options.limit),
        });
        const json = found.map(({ requestHash: _hash, ...order }) => order);
        desk.print(orderTable(found), { orders: json });
      }),
    );
  orders
    .command('explain <order>')
    .description('the whole story of one order, by its number or key')
    .option('--project <merchant>', 'the project whose key it is', merchantArg)
    .action((order: string, options: { project?: string }) =>
      desk.operate(async (parts) => {
        const stories = parts.get(OrderStories);
        const story = await stories.tell(await stories.find(order, options.project));
        desk.print(storyText(story), storyJson(story));
      }),
    );
  orders
    .command('requeue <order>')
    .description('make an order’s next step due now; safe at any time, since every step may be repeated')
    .option('--project <merchant>', 'the project whose key it is', merchantArg)
    .action(async (order: string, options: { project?: string }) => {
      const act = desk.actor('requeued');
      await desk.operate(async (parts) => {
        const stories = parts.get(OrderStories);
        const found = await stories.find(order, options.project);
        const nextRunAt = await stories.requeue(found, act);
        const id = found.id;
        desk.print(`Order ${id.toString()} is due since ${timeText(nextRunAt)}.`, { id, next_run_at: nextRunAt });
      });
    });
}
