// Planted bugs at the edges of caps, quotes, transfers, audit and request limits, each with the test that must catch it.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const money = (title: string): NamedTest => ({ file: 'integration/billing/money-edges.test.ts', title });
const transfers = (title: string): NamedTest => ({ file: 'integration/quotes/transfer-terms.test.ts', title });
const limit = (title: string): NamedTest => ({ file: 'unit/chain/learned-limit.test.ts', title });
const budget = (title: string): NamedTest => ({ file: 'integration/chain/request-budget.test.ts', title });

const LEARNED = 'platform/chain/learned-limit.ts';

export const PLANTED_EDGES: readonly PlantedBug[] = [
  {
    name: 'a small step back over midnight begins the day of caps again',
    changes: one(SCHEMA, 'v_today + CASE WHEN p_sec < 3600 THEN 1 ELSE 0 END', 'v_today'),
    test: money('a small step of the clock back over midnight does not give a daily cap twice'),
  },
  {
    name: 'a quote of a later clock lives until that time',
    changes: one(SCHEMA, `OR p_quote_expires > v_now + interval '2 hours')`, ')'),
    test: money('a quote issued by a clock that is ahead is expired once the clock is right'),
  },
  {
    name: 'the debt of a test project is an overdraft once its orders are pruned',
    changes: one(
      'modules/verify/ledger-checks.ts',
      'AND e.credits < 0\n      AND NOT EXISTS (SELECT FROM project p WHERE p.id = a.project_id AND p.test)',
      'AND e.credits < 0',
    ),
    test: money('the pruned orders of an indebted test project are no overdraft'),
  },
  {
    name: 'an act on a cap is audited before the row is locked',
    changes: one(
      'modules/billing/ledger.ts',
      'const changed = await tx.query(statement, params);\n    if (changed.length !== 1) throw unknownProject();\n    const { author, action, detail } = act;\n    await recordAct(tx, author, { action, detail, subject: projectId });',
      'const { author, action, detail } = act;\n    await recordAct(tx, author, { action, detail, subject: projectId });\n    const changed = await tx.query(statement, params);\n    if (changed.length !== 1) throw unknownProject();',
    ),
    test: money('concurrent changes of a cap are audited in the order of their effects'),
  },
  {
    name: 'the reference token named explicitly is another request',
    changes: one(
      'modules/orders/request-hash.ts',
      "if (terms.kind !== 'direct' || terms.transfer?.token !== tokenContract) return terms;",
      "if (terms.kind !== 'direct' || terms.transfer?.token !== '') return terms;",
    ),
    test: transfers('the reference token named explicitly makes no other request'),
  },
  {
    name: 'a transfer of a test project is simulated on the chain',
    changes: one(
      'modules/quotes/quotes.service.ts',
      'if (request.transfer !== undefined && !isTest) {',
      'if (request.transfer !== undefined) {',
    ),
    test: transfers('a test project is sized as without a transfer'),
  },
  {
    name: 'an unknown sender is refused for its transfer',
    changes: one(
      'modules/orders/direct-terms.ts',
      "priced.code === 'TRANSFER_WOULD_FAIL' ? (receiver ?? priced) : priced",
      'priced',
    ),
    test: transfers('is refused for that, and not for its transfer'),
  },
  {
    name: 'each repetition of a refused transfer is simulated again',
    changes: one(
      'modules/quotes/transfer-sizing.ts',
      "if (error.code === 'CHAIN_UNAVAILABLE') throw error;\n        return error;",
      'throw error;',
    ),
    test: transfers('repetitions of one transfer are simulated once in a second, refused or not'),
  },
  {
    name: 'a learned request limit never grows',
    changes: one(LEARNED, 'Math.max(0, ageSec - calmSec)', '0'),
    test: limit('a single refusal slows the service down for a minute or two, not for hours'),
  },
  {
    name: 'a learned request limit grows again as soon after each refusal',
    changes: one(LEARNED, 'lesson.calmSec * 2)', 'lesson.calmSec)'),
    test: limit('falls below the limit of a provider within a burst, and stays there ever longer'),
  },
  {
    name: 'a request limit is learned from the requests of one process',
    changes: one(LEARNED, 'sent(1000) + this.othersPerSec;', 'sent(1000);'),
    test: budget('the first learned limit counts the requests of all processes'),
  },
  {
    name: 'a request limit is learned from the burst of a start',
    changes: one(LEARNED, 'return this.shares >= 2 ||', 'return true ||'),
    test: budget('a limit is learned from throttled answers, lowered by further ones, and shared'),
  },
  {
    name: 'a single refusal teaches a request limit',
    changes: one(LEARNED, 'isRepeated && rate >= LEARN_FROM_PER_SEC', 'rate >= LEARN_FROM_PER_SEC'),
    test: budget('a single refusal teaches no limit, and a second one within a minute does'),
  },
  {
    name: 'an event of a later clock has waited a negative time',
    changes: one(
      'modules/events/numberer.ts',
      'greatest(extract(epoch FROM clock_timestamp() - at), 0)::float8',
      'extract(epoch FROM clock_timestamp() - at)::float8',
    ),
    test: {
      file: 'integration/database/clock-jumps.test.ts',
      title: 'an event of a clock an hour ahead has waited no negative time for its position',
    },
  },
];
