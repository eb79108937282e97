// Planted bugs through which one party delays or charges another: earlier orders, other projects, a held row in a
// batch, or a single node's answer.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const inTest = (file: string, title: string): NamedTest => ({ file: `${file}.test.ts`, title });

export const PLANTED_IN_COMPANY: readonly PlantedBug[] = [
  {
    name: 'a quote expires while its order waits for its turn',
    changes: one(
      'modules/orders/accept-statement.ts',
      'expiresAtMs + Math.ceil(monotonicMs() - askedMs)',
      'expiresAtMs',
    ),
    test: inTest(
      'integration/orders/orders',
      'honours a quote that arrived in time, however long the order waits for its turn',
    ),
  },
  {
    name: 'one project takes every place of those that are held',
    changes: one('modules/orders/order-waits.ts', 'if (count >= WAITERS_PER_PROJECT) return;', ''),
    test: inTest(
      'integration/energy/energy-rent',
      'is granted to 2 000 in a process, 500 of them of one project, and further ones are answered immediately',
    ),
  },
  {
    name: 'a slow database holds an answer longer than asked',
    changes: one(
      'modules/orders/order-waits.ts',
      'this.releaseMatching(({ deadlineMs }) => deadlineMs <= now);',
      'if (!this.isReading) this.releaseMatching(({ deadlineMs }) => deadlineMs <= now);',
    ),
    test: inTest(
      'integration/orders/order-waits',
      'an answer is held no longer than asked, even while the database does not answer',
    ),
  },
  {
    name: 'a held answer waits for its last read for as long as the database takes',
    changes: one('modules/orders/order-answers.ts', 'READ_LIMIT_MS = 1000;', 'READ_LIMIT_MS = 60_000;'),
    test: inTest(
      'integration/orders/order-waits',
      'an answer is held no longer than asked, even while the database does not answer',
    ),
  },
  {
    name: 'a compensation is booked again under its own number',
    changes: one('modules/billing/compensation.ts', 'const wanted = number ?? count + 1;', 'const wanted = count + 1;'),
    test: inTest(
      'long/reconciliation/foreign-ends',
      'a compensation with a number is booked once, whatever is repeated',
    ),
  },
  {
    name: 'a row that another session holds fails the orders beside it',
    changes: one('platform/database/all-or-each.ts', ' && !(isLockTimeout(error) && orders.size > 1)', ''),
    test: inTest(
      'integration/database/all-or-each',
      'a row that its rules keep and a row that another session holds fail alone',
    ),
  },
  {
    name: 'an act that cannot be held against the records ends the look',
    changes: one(
      'modules/reconciliation/run-for-act.ts',
      'if (error instanceof ChainUnavailableError || isDatabaseAway(error)) throw error;',
      'if (error instanceof ChainUnavailableError || isDatabaseAway(error) || true) throw error;',
    ),
    test: inTest(
      'long/reconciliation/foreign-ends',
      'an act whose leg is held by another session holds up no other act',
    ),
  },
  {
    name: 'the network’s energy is what one node says',
    changes: one(
      'modules/pool/agreed-ratio.ts',
      'this.agreed !== undefined && isNear(said, this.agreed) ? said',
      'said ? said',
    ),
    test: inTest('long/fulfilment/lying-node', 'one node alone reporting a grown network tops up no rental'),
  },
  {
    name: 'a rental that gets no more top-ups is claimed before all others',
    changes: one('modules/fulfilment/advance/top-ups.ts', 'if (isPastTopUps(', 'if (false && isPastTopUps('),
    test: inTest('long/fulfilment/running-rentals', 'the number of top-ups of a rental is limited'),
  },
  {
    name: 'an order is lost for legs that died side by side',
    changes: one(
      'modules/fulfilment/plan/plan.ts',
      `(movedDeaths >= MOVED_DEATHS_MAX && leg.status !== 'released' && deliveryDeathsOf(leg) > 0)`,
      'movedDeaths >= MOVED_DEATHS_MAX',
    ),
    test: inTest('unit/fulfilment/plan', 'is not undone when legs that died side by side were moved'),
  },
  {
    name: 'a replica that says nothing is waited for as long as any server',
    changes: one('platform/database/replica.ts', 'query_timeout: ANSWER_LIMIT_MS', 'query_timeout: 14_000'),
    test: inTest(
      'long/database/replica',
      'a replica that goes silent delays one read for a moment, and no read after it',
    ),
  },
  {
    name: 'callers of the API take all of a request budget',
    changes: one('platform/chain/request-budget.ts', 'Math.max(1, Math.floor(limit / CALLERS_SHARE))', 'limit'),
    test: inTest(
      'integration/chain/nodes',
      'gives callers of the API at most half of its places, and a separate queue',
    ),
  },
  {
    name: 'look-ups of all projects stand in one line',
    changes: one(
      'platform/http/pipeline/lookup-queue.ts',
      'this.queue === undefined ? lookup() : this.queue.run(projectId, lookup)',
      'lookup()',
    ),
    test: inTest(
      'long/http/lookup-queue',
      'a project whose orders cause look-ups all the time, without result, does not hold up those of another',
    ),
  },
  {
    name: 'an order whose look-up finds no place is not looked for',
    changes: one('modules/orders/order-pricing.ts', 'this.price(purchase)).catch(asRefused)', 'this.price(purchase))'),
    test: inTest(
      'long/http/lookup-queue',
      'an order is replayed though its look-up finds no place, also when Redis has forgotten its key',
    ),
  },
  {
    name: 'a replay is broken off and begun over and over',
    changes: one('modules/webhooks/webhook-deliveries.ts', `typeof broken?.wait_sec === 'number'`, 'false'),
    test: inTest(
      'integration/webhooks/webhooks-bounds',
      'a replay is not aborted and restarted repeatedly, which would keep the sender from all others',
    ),
  },
  {
    name: 'pages of one project take every connection of a console',
    changes: one(
      'modules/console/project-scope.interceptor.ts',
      'queue.run(projectId, handle)',
      'void queue || handle()',
    ),
    test: inTest(
      'integration/console/console-budgets',
      'slow pages of one project do not delay another project’s pages',
    ),
  },
  {
    name: 'anybody may ask a console for ever',
    changes: one(
      'modules/console/authority.guard.ts',
      'await this.budget.take(admitted.session.person_id)',
      'void this.budget',
    ),
    test: inTest('integration/console/console-budgets', 'makes a person wait who asks all the time, and no one else'),
  },
  {
    name: 'broadcasts wait for connections behind reads',
    changes: one('platform/chain/exchange.ts', 'isBroadcast ? this.broadcasts : this.reads', 'this.reads'),
    test: inTest(
      'integration/chain/node-connections',
      'reads wait for each other beyond the limit, a broadcast waits for none of them, and all are answered',
    ),
  },
  {
    name: 'a process opens as many connections to a node as it likes',
    changes: one('platform/chain/exchange.ts', 'Math.max(1, max - broadcasts)', 'max * 10'),
    test: inTest(
      'integration/chain/node-connections',
      'reads wait for each other beyond the limit, a broadcast waits for none of them, and all are answered',
    ),
  },
  {
    name: 'a project has as many look-ups in progress as a quote of another waits for',
    changes: one('platform/http/pipeline/lookup-queue.ts', 'const BUDGET_SHARE = 0.125;', 'const BUDGET_SHARE = 0.25;'),
    test: inTest(
      'long/http/lookup-queue',
      'a project whose orders cause look-ups all the time, without result, does not hold up those of another',
    ),
  },
  {
    name: 'a guard asks for the transactions of every new order',
    changes: one(
      SCHEMA,
      `AND (NEW.kept_credits IS NOT NULL OR NEW.status = 'refunded' AND NEW.activation_credits IS NOT NULL) THEN
    IF NEW.kept_credits`,
      `THEN
    NULL;
  END IF;
  IF true THEN
    IF TG_OP = 'UPDATE' AND NEW.kept_credits`,
    ),
    test: inTest(
      'long/orders/orders-outages',
      'delays neither the purchases of another nor its pages, however slow each page is',
    ),
  },
  {
    name: 'a node that runs no constant calls is taken at its word',
    changes: one('platform/chain/contract-call.ts', '/not support constant/i.test(message)', 'false'),
    test: inTest('integration/chain/nodes', 'asks another node if one does not run constant calls'),
  },
  {
    name: 'the name of an account keeps it from being read',
    changes: one(
      'platform/chain/account-question.ts',
      '({ address: addressToHex(address) })',
      '({ address, visible: true })',
    ),
    test: inTest('integration/accounts/account-names', 'reads an account with any name'),
  },
];
