// Planted bugs in the merchants' pages: deliveries, warnings, lists, files and statements.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const consoles =
  (file: string) =>
  (title: string): NamedTest => ({ file: `integration/console/console-${file}.test.ts`, title });
const webhooks = consoles('webhooks');
const orders = consoles('orders');
const statements = consoles('statements');
const search = consoles('search');
const requestLog = (title: string): NamedTest => ({ file: 'integration/requests/request-log.test.ts', title });

export const PLANTED_MERCHANT_PAGES: readonly PlantedBug[] = [
  {
    name: 'the search shows the path of a webhook’s URL',
    changes: one(
      'modules/console/search.service.ts',
      "kind === 'webhook' ? maskedUrl(says)",
      "kind === 'order' ? maskedUrl(says)",
    ),
    test: search('never shows the token in the path of a webhook’s URL'),
  },
  {
    name: 'a delivery is shown to whoever knows its number',
    changes: one(
      'modules/webhooks/webhook-deliveries.ts',
      'WHERE d.endpoint_id = $1 AND d.id = $2`,',
      'WHERE ($1::uuid IS NOT NULL) AND d.id = $2`,',
    ),
    test: webhooks('of another webhook or project does not exist'),
  },
  {
    name: 'members read the answer of the receiving host',
    changes: one(
      'modules/console/webhooks.controller.ts',
      '...deliveryFor(caller, deliveryBody(found)),',
      '...(caller.role === null ? {} : deliveryBody(found)),',
    ),
    test: webhooks('shows its order, the body sent, the answer and the next attempt'),
  },
  {
    name: 'the home page counts failures from before the last success',
    changes: one(
      'modules/console/home.service.ts',
      'AND d.attempted_at > greatest(s.taken_at, w.changed_at)) f',
      ') f',
    ),
    test: webhooks('by attempts since the last success only, without tests'),
  },
  {
    name: 'refusals beyond the rate limit use the room of others in the request log',
    changes: one(
      'modules/auth/request-log.ts',
      "return status === 429 ? 'limited' : 'proven';",
      "return status === 0 ? 'limited' : 'proven';",
    ),
    test: requestLog('keeps room for other refusals beside a flood beyond the rate limit'),
  },
  {
    name: 'a refusal for credits is not in the request log',
    changes: one('modules/auth/request-log.ts', 'if (error.status >= 500) return;', 'if (error.status >= 402) return;'),
    test: requestLog('has every refusal: for a cap, rights, unknown objects, conflicts and a reused key'),
  },
  {
    name: 'a running rental counts as ended',
    changes: one('modules/console/order-list.ts', "(o.reclaimed_at IS NOT NULL OR o.kind = 'activation')", '(true)'),
    test: orders('are those of the project, each once, latest first'),
  },
  {
    name: 'the CSV burns the energy of a rental once for all its uses',
    changes: one(
      'modules/console/order-csv.ts',
      'burnPrice(energy(amount), fee, uses ?? 1)',
      'burnPrice(energy(amount), fee, (uses ?? 1) > 0 ? 1 : 0)',
    ),
    test: orders('the CSV has labels, prices, transactions and the receiver’s energy, and the day in its name'),
  },
  {
    name: 'the open month has the entries of the last statement again',
    changes: one(
      'modules/statements/open-month.ts',
      `AND e.id >= l.rest_from
         AND (e.id > l.entries_to OR e.created_at >= l.ends_at)`,
      '',
    ),
    test: statements('the open month begins after the last statement, and its file has the same entries'),
  },
];
