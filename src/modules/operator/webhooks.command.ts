/**
 * `webhooks list|create|change|delete|rotate|test|replay|deliveries|resend`: a project's webhooks and their deliveries.
 */
import type { Command } from 'commander';
import { durationText } from '../../domain/text.js';
import { maskedUrl } from '../../domain/masked-url.js';
import { audited } from '../../platform/database/audit-log.js';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../domain/webhook-delivery.js';
import { WebhookDeliveries, type DeliveryView } from '../webhooks/webhook-deliveries.js';
import {
  pendingText,
  ROTATION_SEC_MAX,
  Webhooks,
  type WebhookOptions,
  type WebhookView,
} from '../webhooks/webhooks.js';
import { Projects } from '../projects/projects.js';
import { choiceArg, integerArg, merchantArg, switchArg, typesArg, webhookArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { fields, table } from './format.js';

const idArg = integerArg(1n, 10n ** 17n);
const LIST_MAX = 100;
const SHOWN_ONCE = 'The secret is shown only once. Store it safely; `webhooks rotate` creates a new one.';

interface Options {
  readonly url?: string;
  readonly type?: readonly string[];
  readonly allTypes?: boolean;
  readonly description?: string;
  readonly enabled?: boolean;
}

export function addWebhookCommands(program: Command, context: CliContext): void {
  const webhooks = program.command('webhooks').description('manage webhooks and their deliveries');
  addReads(webhooks, context);
  addConfiguration(webhooks, context);
  addEndings(webhooks, context);
  addRepetitions(webhooks, context);
}

function addReads(webhooks: Command, context: CliContext): void {
  webhooks
    .command('list <merchant>')
    .description('list the webhooks of a project')
    .action(async (merchant: string) => {
      const id = merchantArg(merchant);
      await context.operate(async (parts) => {
        await parts.get(Projects).get(id);
        const views = await parts.get(Webhooks).list(id);
        const human = table(
          ['webhook', 'url', 'types', 'state', 'waiting'],
          views.map((view) => [
            view.id,
            maskedUrl(view.url),
            view.types?.join(' ') ?? 'all',
            stateOf(view),
            pendingText(view),
          ]),
          'No webhooks.',
        );
        context.print(human, { webhooks: views.map(viewJson) });
      });
    });
  webhooks
    .command('deliveries <webhook>')
    .description('list the deliveries of a webhook, newest first')
    .option('--status <status>', `only with this status: ${DELIVERY_STATUSES.join(', ')}`, choiceArg(DELIVERY_STATUSES))
    .action(async (webhook: string, { status }: { status?: DeliveryStatus }) => {
      const id = webhookArg(webhook);
      await context.operate(async (parts) => {
        await parts.get(Webhooks).projectOf(id);
        const views = await parts.get(WebhookDeliveries).list(id, status, LIST_MAX, undefined);
        const human = table(
          ['delivery', 'event', 'type', 'status', 'attempts', 'answer'],
          views.map((view) => [
            view.id,
            view.event_key,
            view.type,
            view.status,
            view.attempts.toString(),
            view.fault ?? view.answer_status?.toString() ?? '',
          ]),
          'No deliveries.',
        );
        context.print(human, { deliveries: views });
      });
    });
}

function addConfiguration(webhooks: Command, context: CliContext): void {
  withTypes(webhooks.command('create <merchant>'))
    .description('create a webhook, and print its secret once')
    .requiredOption('--url <url>', 'an https URL with a public host name')
    .action(async (merchant: string, options: Options & { url: string }) => {
      const projectId = merchantArg(merchant);
      const witness = audited(context.actor('webhook created'));
      await context.operate(async (parts) => {
        const service = parts.get(Webhooks);
        const { id, secret } = await service.create(
          projectId,
          { ...changesOf(options), url: options.url },
          null,
          witness,
        );
        printWithSecret(context, await service.get(projectId, id), secret);
      });
    });
  withTypes(webhooks.command('change <webhook>'))
    .description('change a webhook’s URL or types; enable or disable it')
    .option('--url <url>', 'an https URL with a public host name')
    .option('--enabled <on|off>', 'send events or not', switchArg)
    .action(async (webhook: string, options: Options) => {
      const id = webhookArg(webhook);
      const witness = audited(context.actor('webhook changed'));
      await context.operate(async (parts) => {
        const service = parts.get(Webhooks);
        const projectId = await service.projectOf(id);
        await service.change(projectId, id, changesOf(options), witness);
        const view = await service.get(projectId, id);
        context.print(viewText(view), viewJson(view));
      });
    });
}

function addEndings(webhooks: Command, context: CliContext): void {
  webhooks
    .command('rotate <webhook>')
    .description('create a new secret; the old one signs as well for a day by default')
    .option('--overlap <seconds>', 'how long the old secret still signs', integerArg(0n, BigInt(ROTATION_SEC_MAX)))
    .action(async (webhook: string, options: { overlap?: bigint }) => {
      const id = webhookArg(webhook);
      const overlapSec = Number(options.overlap ?? ROTATION_SEC_MAX);
      const witness = audited(context.actor('webhook secret rotated'));
      await context.confirm(
        `This invalidates the secret of the webhook ${id} ${overlapSec === 0 ? 'immediately' : `in ${durationText(overlapSec)}`}.`,
      );
      await context.operate(async (parts) => {
        const service = parts.get(Webhooks);
        const projectId = await service.projectOf(id);
        const secret = await service.rotate(projectId, id, overlapSec, witness);
        printWithSecret(context, await service.get(projectId, id), secret);
      });
    });
  webhooks
    .command('delete <webhook>')
    .description('delete a webhook and drop its waiting deliveries')
    .action(async (webhook: string) => {
      const id = webhookArg(webhook);
      const witness = audited(context.actor('webhook deleted'));
      await context.confirm(`This deletes the webhook ${id} and its waiting deliveries.`);
      await context.operate(async (parts) => {
        const service = parts.get(Webhooks);
        await service.delete(await service.projectOf(id), id, witness);
        context.print(`The webhook ${id} is deleted.`, { webhook: id, deleted: true });
      });
    });
}

function addRepetitions(webhooks: Command, context: CliContext): void {
  webhooks
    .command('test <webhook>')
    .description('send one event of the type webhook.test')
    .action(async (webhook: string) => {
      const id = webhookArg(webhook);
      const witness = audited(context.actor('webhook tested'));
      await context.operate(async (parts) => {
        const made = await parts.get(WebhookDeliveries).test(await parts.get(Webhooks).projectOf(id), id, witness);
        printDelivery(context, made);
      });
    });
  webhooks
    .command('replay <webhook>')
    .description('send events again after a position of the project’s event log')
    .requiredOption(
      '--after <position>',
      'position of the last event before the replay',
      integerArg(0n, 2n ** 53n - 1n),
    )
    .action(async (webhook: string, { after }: { after: bigint }) => {
      const id = webhookArg(webhook);
      const witness = audited(context.actor('events replayed'));
      await context.operate(async (parts) => {
        const projectId = await parts.get(Webhooks).projectOf(id);
        const replay = await parts.get(WebhookDeliveries).replay(projectId, id, after, witness);
        const words = `${replay.events.toString()} events will be sent again, up to position ${replay.lastPosition.toString()}.`;
        context.print(words, replay);
      });
    });
  webhooks
    .command('resend <webhook> <delivery>')
    .description('send one delivery again, or immediately if it is waiting')
    .action(async (webhook: string, delivery: string) => {
      const [id, deliveryId] = [webhookArg(webhook), idArg(delivery)];
      const witness = audited(context.actor('delivery sent again'));
      await context.operate(async (parts) => {
        const projectId = await parts.get(Webhooks).projectOf(id);
        printDelivery(context, await parts.get(WebhookDeliveries).resend(projectId, id, deliveryId, witness));
      });
    });
}

function withTypes(command: Command): Command {
  return command
    .option('--type <type...>', 'only events of these types; replaces the list', typesArg)
    .option('--all-types', 'send events of all types')
    .option('--description <text>', 'what the webhook is for');
}

function changesOf({ url, type, allTypes, description, enabled }: Options): WebhookOptions {
  return {
    ...(url !== undefined && { url }),
    ...(type !== undefined && { types: type }),
    ...(allTypes === true && { types: [] }),
    ...(description !== undefined && { description }),
    ...(enabled !== undefined && { isEnabled: enabled }),
  };
}

function stateOf(view: WebhookView): string {
  if (view.disabled_reason !== null) return `disabled (${view.disabled_reason})`;
  return view.failing_since === null ? 'enabled' : `failing since ${view.failing_since.toISOString()}`;
}

function viewText(view: WebhookView): string {
  return fields([
    ['Webhook', view.id],
    ['Merchant ID', view.project_id],
    ['URL', maskedUrl(view.url)],
    ['Types', view.types?.join(' ') ?? 'all'],
    ['Description', view.description],
    ['State', stateOf(view)],
    ['Waiting', pendingText(view)],
    ['Old secret', view.previous_until ?? 'no longer signs'],
  ]);
}

function viewJson(view: WebhookView): Record<string, unknown> {
  const { id: webhook, project_id: merchant, url, ...rest } = view;
  return { webhook, merchant, url: maskedUrl(url), ...rest };
}

function printWithSecret(context: CliContext, view: WebhookView, secret: string): void {
  const shown = fields([['Secret', secret]]);
  context.print(`${viewText(view)}\n\n${shown}\n\n${SHOWN_ONCE}`, { ...viewJson(view), secret });
}

function printDelivery(context: CliContext, view: DeliveryView): void {
  context.print(`Delivery ${view.id.toString()} of ${view.event_key} will be sent within a second.`, view);
}
