// Planted bugs that treat uncertain facts as certain: one node's answer, an unreadable block, an invalid answer,
// records of a server that may have lost commits, an expired turn or session.
import { one, ORDERS, SETTLEMENT, TRANSACTIONS, type NamedTest, type PlantedBug } from './planted-bug.js';

const inTest = (file: string, title: string): NamedTest => ({ file: `${file}.test.ts`, title });

const LACKING = 'long/fulfilment/lacking-witnesses';
const LOST = 'integration/reconciliation/lost-commits';
const JUDGED = 'long/verify/acts-judged';

export const PLANTED_IN_DOUBT: readonly PlantedBug[] = [
  {
    name: 'a request whose time is over is sent when a connection falls free',
    changes: one('platform/chain/exchange.ts', 'if (this.late !== undefined) controller.abort(this.late);', ''),
    test: inTest(
      'integration/chain/exchange',
      'that times out while it waits for a connection is never sent, even if one is free again',
    ),
  },
  {
    name: 'the search goes as far as one node says that blocks go',
    changes: one('platform/chain/solid-height.ts', 'answered[reached] ?? first', 'answered[0] ?? first'),
    test: inTest(
      'long/fulfilment/lying-node',
      'one node alone with blocks that are not made yet moves the search past none of them',
    ),
  },
  {
    name: 'two who end legs of one pair at once both believe what was missing before',
    changes: one(
      'modules/pool/leg-closing.ts',
      '(await tx.query(CLOSED_SINCE, [judged.legIds])).length === 0',
      '(await tx.query(CLOSED_SINCE, [judged.legIds])).length >= 0',
    ),
    test: inTest(JUDGED, 'one act ends one of them, although the operator ends the other at the same moment'),
  },
  {
    name: 'a server’s records move the search of another one',
    changes: one(
      'modules/reconciliation/unrecorded-search.ts',
      'AND server_mark() = $5 RETURNING',
      'AND $5::text IS NOT NULL RETURNING',
    ),
    test: inTest(
      'long/reconciliation/unrecorded-search',
      'a search by one server’s records moves no search on another one',
    ),
  },
  {
    name: 'bytes are built on a server that may have lost commits',
    changes: one(
      TRANSACTIONS,
      'WHERE ${RECOVERY_IS_DONE} ORDER BY o.id FOR NO KEY',
      'WHERE true ORDER BY o.id FOR NO KEY',
    ),
    test: inTest(LOST, 'builds and sends nothing for earlier claims'),
  },
  {
    name: 'what was signed is sent on a server that may have lost commits',
    changes: one(TRANSACTIONS, `t.status = 'signed' AND \${RECOVERY_IS_DONE}`, `t.status = 'signed'`),
    test: inTest(LOST, 'sends nothing that was signed before, and gives nothing of it up'),
  },
  {
    name: 'what was signed is dropped on a server that may have lost commits',
    changes: one(TRANSACTIONS, `('built', 'signed') AND \${RECOVERY_IS_DONE}`, `('built', 'signed')`),
    test: inTest(LOST, 'sends nothing that was signed before, and gives nothing of it up'),
  },
  {
    name: 'the return of an order that is undone is not recalled',
    changes: one('modules/reconciliation/backup-recovery.ts', 'OR o.undoing OR', 'OR'),
    test: inTest(LOST, 'records the reclaim of an order known to be undone, and refunds the order'),
  },
  {
    name: 'a return before the delivery is not recalled',
    changes: one(
      'modules/reconciliation/backup-recovery.ts',
      `o.undoing OR o.status IN ('placed', 'unresolved'))`,
      'o.undoing)',
    ),
    test: inTest(LOST, 'records the reclaim of an order that a lost commit undid, and refunds the order'),
  },
  {
    name: 'an order whose return is recalled is not undone',
    changes: one(
      'modules/order-records/recovery-transitions.ts',
      `o.undoing OR $2 = 'reclaim'`,
      `o.undoing AND $2 = 'reclaim'`,
    ),
    test: inTest(LOST, 'records the reclaim of an order that a lost commit undid, and refunds the order'),
  },
  {
    name: 'an order is undone on a server that may have lost commits',
    changes: one(ORDERS, 'AND NOT settled AND ${RECOVERY_IS_DONE} RETURNING id', 'AND NOT settled RETURNING id'),
    test: inTest(LOST, 'gives up and refunds nothing for earlier claims'),
  },
  {
    name: 'a leg is released on a server that may have lost commits',
    changes: one(
      ORDERS,
      'AND fence = $2 AND ${RECOVERY_IS_DONE} FOR NO KEY UPDATE',
      'AND fence = $2 FOR NO KEY UPDATE',
    ),
    test: inTest(LOST, 'gives up and refunds nothing for earlier claims'),
  },
  {
    name: 'an order is refunded on a server that may have lost commits',
    changes: [
      { file: ORDERS, find: `status <> 'refunded' AND \${RECOVERY_IS_DONE}`, put: `status <> 'refunded'` },
      {
        file: ORDERS,
        find: 'AND fence = $2 AND ${RECOVERY_IS_DONE} FOR NO KEY UPDATE',
        put: 'AND fence = $2 FOR NO KEY UPDATE',
      },
    ],
    test: inTest(LOST, 'gives up and refunds nothing for earlier claims'),
  },
  {
    name: 'a worker that lost the turn to reconcile frees wallets',
    changes: one('modules/pool/sales-hold.ts', 'WHERE fence = $3::integer FOR', 'WHERE $3::integer IS NOT NULL FOR'),
    test: inTest(
      'long/reconciliation/reconciler',
      'a worker that lost its turn meanwhile frees no wallet, and stops nothing',
    ),
  },
  {
    name: 'a node that shows nothing of a block is asked for its word without end',
    changes: one(
      SETTLEMENT,
      `if ([...standings.values()].some((standing) => standing !== 'unknown')) return [{ node, standings }];`,
      'if (standings.size > 0) return [{ node, standings }];',
    ),
    test: inTest(LACKING, 'when asked for blocks delays a settlement until the wait for a second witness is over'),
  },
  {
    name: 'a node that shows nothing of a block is never asked whether it keeps transactions',
    changes: one(SETTLEMENT, '      await this.history.keeps(node);\n      return [];', '      return [];'),
    test: inTest(LACKING, 'when asked for blocks delays a settlement until the wait for a second witness is over'),
  },
  {
    name: 'the search never asks a node that shows nothing whether it keeps transactions',
    changes: one(
      'modules/reconciliation/searched-blocks.ts',
      `if (error.kind === 'unreadable') await this.history.keeps(node).catch(ignoreNodeError);`,
      '',
    ),
    test: inTest(
      LACKING,
      'an act without a record is recorded once the wait for a node that shows neither blocks nor transactions is over',
    ),
  },
  {
    name: 'a node without transactions is waited for without end',
    changes: one('platform/chain/history.ts', ' || this.lackingMs(node) > agreement.awayMaxMs', ''),
    test: inTest(
      LACKING,
      'a node that keeps no transactions delays a death until the wait for a second witness is over',
    ),
  },
  {
    name: 'what is in a block is asked for by one name only',
    changes: one('platform/chain/node-blocks.ts', '!NO_ANSWER.has(error.kind) || !this.hasHeaders[port]', 'true'),
    test: inTest(LACKING, 'is a witness of what is in blocks, and orders are settled by its answer too'),
  },
  {
    name: 'an act is looked for in the index of a node that keeps none',
    changes: one('modules/reconciliation/searched-blocks.ts', 'if (same?.isWhole === true)', 'if (false)'),
    test: inTest(LACKING, 'an act without a record is recorded with a node without history, which has its block'),
  },
  {
    name: 'acts that stay open hide later ones',
    changes: one(
      'modules/reconciliation/act-pages.ts',
      'rows.length < this.size ? undefined : rows.at(-1)',
      'undefined',
    ),
    test: { file: 'long/verify/acts-judged.test.ts', title: 'keep no later delegation from being reclaimed' },
  },
  {
    name: 'an orphan is gone while another order on its way hides it',
    changes: one('modules/reconciliation/orphan-reclaims.ts', 'if (excess.most <= 0n)', 'if (excess.least <= 0n)'),
    test: inTest(JUDGED, 'is reclaimed although an order of the same amount to the receiver was pending at the check'),
  },
  {
    name: 'an orphan is gone by the word of one node',
    changes: one(
      'modules/verify/delegation-check.ts',
      'mosts.reduce((most, each) => (each > most ? each : most))',
      'mosts.reduce((most, each) => (each < most ? each : most))',
    ),
    test: inTest(JUDGED, 'does not count as gone by the answer of the'),
  },
  {
    name: 'a foreign undelegation is judged by a node below its block',
    changes: one('modules/pool/shortfall.ts', ' || height < leastHeight', ''),
    test: inTest(JUDGED, 'ends the rental that it took'),
  },
  {
    name: 'a refusal with HTTP 200 is no delegation',
    changes: one(
      'platform/chain/solid-delegations.ts',
      'if (Object.keys(json).length === 0 || members.some((name) => name in json)) return;',
      'return;',
    ),
    test: inTest(JUDGED, 'with HTTP 200 does not count as nothing:'),
  },
  {
    name: 'delegations are wrong by one look',
    changes: one(
      'modules/verify/delegation-check.ts',
      'for (const restMs of READING_RESTS_MS) {',
      'for (const restMs of READING_RESTS_MS.slice(0, 0)) {',
    ),
    test: inTest(JUDGED, 'are a finding only if the chain keeps contradicting them'),
  },
  {
    name: 'what dies of a chain that stood still pauses its wallet',
    changes: one(
      'modules/fulfilment/advance/expired-transactions.ts',
      'if (scanned.whileValid < BLOCKS_MIN) return false;',
      '',
    ),
    test: inTest(
      'long/fulfilment/wallet-delivery',
      'prove nothing about their wallets: none is paused, and all is delivered by them once there are blocks again',
    ),
  },
  {
    name: 'a session begins by a password that is being replaced',
    changes: one('modules/people/sessions.ts', 'if (held?.credentials !== credentials) return undefined;', ''),
    test: inTest(
      'integration/console/console-sign-in',
      'opens nothing once it is being replaced, whenever it was checked',
    ),
  },
  {
    name: 'a session that ended while a body was on its way still acts',
    changes: one(
      'modules/console/authority.guard.ts',
      '\n      admitted = await this.admit(request, terms, requestId);',
      '',
    ),
    test: inTest('integration/console/console-sessions', 'that ends while a body is arriving does nothing more'),
  },
];
