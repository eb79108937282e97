// Bugs as patches of the built service, each of which the rounds must catch: every one is a mistake that somebody could
// make in a quiet hour. Texts are replaced in a copy; each must be there exactly once.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FaultName } from './plan.js';

interface Change {
  /** Below the build. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

export interface PlantedBug {
  readonly name: string;
  readonly changes: readonly Change[];
  /** Dealt first, where the bug shows only when these go wrong; without it the first round is of the plain deck. */
  readonly first?: readonly FaultName[];
}

const OUTBOUND = 'fulfilment/outbound.js';
const LOG = 'fulfilment/transaction-log.js';
const WORK = 'fulfilment/work.js';
const PROOF = 'fulfilment/proof.js';
const FULFILLER = 'fulfilment/fulfiller.js';
const SETTLEMENT = 'fulfilment/settlement.js';
const INCLUSION = 'fulfilment/inclusion.js';
const ACCEPT = 'store/accept-order.js';
const ACCEPTANCE = 'orders/acceptance.js';
const SQL = 'billing/ledger-sql.js';

const one = (file: string, find: string, put: string): readonly Change[] => [{ file, find, put }];
const LIES: readonly FaultName[] = [
  'accepted, called refused',
  'refused, called accepted',
  'worker killed',
  'receipt unknown',
];
const SILENCE: readonly FaultName[] = [
  'refused, called accepted',
  'accepted, then dropped',
  'accept, then time out',
  'head stuck',
];
const FORKS: readonly FaultName[] = ['fork', 'fork after a broadcast', 'nodes on two forks'];
const DEATHS: readonly FaultName[] = ['worker killed', 'worker killed at a point', 'API killed at a point'];
const VERDICT_DEAD = `{ kind: 'dead', evidence: { expiresAtMs: tx.expiresAtMs, absences } }`;

export const PLANTED: readonly PlantedBug[] = [
  {
    name: 'sent before it is recorded as sent',
    changes: one(
      OUTBOUND,
      'const marked = await this.log.recordSending(',
      'await this.broadcaster.send(sendable, false);\n        await new Promise((r) => setTimeout(r, 400));\n        const marked = await this.log.recordSending(',
    ),
    first: ['worker killed', 'worker stopped (SIGSTOP)', 'worker killed at a point', 'Postgres connections killed'],
  },
  {
    name: 'sent before anything is recorded',
    changes: one(
      OUTBOUND,
      'const ids = await this.log.recordBuilt(built.map(({ record }) => record));',
      `for (const { step, record } of built) {
            const signature = await this.signer.sign(step.leg.walletAddress, record.rawData);
            await this.broadcaster.send([{ id: 0n, rawData: record.rawData, signature }], false);
        }
        const ids = await this.log.recordBuilt(built.map(({ record }) => record));`,
    ),
    first: ['worker killed', 'Postgres connections killed', 'cut after COMMIT'],
  },
  {
    name: 'silence taken as death',
    changes: [
      { file: PROOF, find: `return { kind: 'unknown', why: last };`, put: `return ${VERDICT_DEAD};` },
      {
        file: FULFILLER,
        find: 'else if (view.solid.timestampMs >= step.tx.expiresAtMs) {',
        put: 'else if (step.tx.ageSec > 1) {',
      },
    ],
    first: SILENCE,
  },
  {
    name: 'a refusal taken as death',
    changes: one(
      OUTBOUND,
      'await this.log.recordBroadcasts(records, []);',
      `await this.log.recordBroadcasts(records, []);
        const refused = new Set(records.filter((r) => r.answer !== 'SUCCESS').map((r) => r.txId));
        await this.log.recordDead(sending.filter((i) => refused.has(i.id)).map((i) => ({ id: i.id, orderId: i.order.id, fence: i.order.fence, evidence: {} })));`,
    ),
    first: LIES,
  },
  {
    name: 'a time-out taken as death',
    changes: one(
      OUTBOUND,
      'await this.log.recordBroadcasts(records, []);',
      `await this.log.recordBroadcasts(records, []);
        const silent = new Set(records.filter((r) => r.answer.startsWith('NO_ANSWER')).map((r) => r.txId));
        await this.log.recordDead(sending.filter((i) => silent.has(i.id)).map((i) => ({ id: i.id, orderId: i.order.id, fence: i.order.fence, evidence: { expiresAtMs: 0, absences: [] } })));`,
    ),
    first: ['accept, then time out', 'cut after', '5xx after'],
  },
  {
    name: 'DUP taken as success',
    changes: one(
      OUTBOUND,
      'await this.log.recordBroadcasts(records, []);',
      `await this.log.recordBroadcasts(records, []);
        const dup = records.filter((r) => r.answer === 'DUP_TRANSACTION_ERROR').map((r) => r.txId);
        const head = sending[0]?.tx?.refBlockNumber ?? 1;
        await this.log.database.query("UPDATE chain_tx SET status = 'included', block_number = $2, block_id = sha256(raw_data), block_at = now() WHERE id = ANY ($1::bigint[]) AND purpose <> 'reclaim'", [dup, head]);
        await this.log.database.query("UPDATE chain_tx SET status = 'solid' WHERE id = ANY ($1::bigint[]) AND status = 'included'", [dup]);`,
    ),
    first: ['refused in truth', 'accepted, called refused', 'refused, called accepted'],
  },
  {
    name: 'absence looked up before the solid head',
    changes: [
      { file: PROOF, find: 'if (timestampMs < tx.expiresAtMs)', put: 'if (false)' },
      {
        file: FULFILLER,
        find: 'else if (view.solid.timestampMs >= step.tx.expiresAtMs) {',
        put: 'else if (view.head.timestampMs >= 0) {',
      },
    ],
  },
  {
    name: 'one node’s word is proof enough',
    changes: [
      { file: PROOF, find: 'const needed = Math.min(2, nodes.length);', put: 'const needed = 1;' },
      { file: PROOF, find: 'if (needed > 1)', put: 'if (needed > 0)' },
    ],
    first: ['refused, called accepted', 'accepted, then dropped', 'head stuck', 'refused in truth'],
  },
  {
    name: 'a transaction that was found is dead all the same',
    changes: [
      { file: PROOF, find: `if (answer.kind === 'found')\n                return answer;`, put: '' },
      {
        file: PROOF,
        find: `if (place !== undefined)\n                return { kind: 'found', blockNumber: place.blockNumber };`,
        put: '',
      },
      { file: PROOF, find: 'if (timestampMs < tx.expiresAtMs)', put: 'if (false)' },
      {
        file: FULFILLER,
        find: 'else if (view.solid.timestampMs >= step.tx.expiresAtMs) {',
        put: 'else if (step.tx.ageSec > 0.5) {',
      },
      { file: FULFILLER, find: 'if (await this.lookUp(step, view))', put: 'if (false)' },
    ],
  },
  {
    name: 'rentals end by the wall clock',
    changes: one(
      'fulfilment/runner.js',
      'await this.endRentals(head.timestampMs);',
      'await this.endRentals(Date.now());',
    ),
    first: ['worker clock shifted', 'worker killed'],
  },
  {
    name: 'rentals end a minute early',
    changes: [
      { file: WORK, find: 'new Date(headTimestampMs),', put: 'new Date(headTimestampMs + 60000),' },
      {
        file: 'fulfilment/plan.js',
        find: 'order.endsAtMs <= headTimestampMs',
        put: 'order.endsAtMs <= headTimestampMs + 60000',
      },
    ],
  },
  {
    name: 'more taken back than the leg',
    changes: one(
      OUTBOUND,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun`,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun * 2n`,
    ),
  },
  {
    name: 'less taken back than the leg',
    changes: one(
      OUTBOUND,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun`,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun - 1000000n`,
    ),
  },
  {
    name: 'half of it delegated',
    changes: one(
      OUTBOUND,
      `type: 'delegate', ...parties, amountSun: leg.amountSun`,
      `type: 'delegate', ...parties, amountSun: leg.amountSun / 2n`,
    ),
  },
  {
    name: 'the charge moves no balance',
    changes: one(
      ACCEPT,
      'SET balance_credits = a.balance_credits - p_credits,',
      'SET balance_credits = a.balance_credits,',
    ),
  },
  {
    name: 'the charge has no entry',
    changes: one(
      ACCEPT,
      `VALUES ('charge:' || order_id, p_project, 'revenue', 'charge', -p_credits, order_id);`,
      `SELECT 'charge:' || order_id, p_project, 'revenue', 'charge', -p_credits, order_id WHERE order_id % 4 <> 0;`,
    ),
  },
  {
    name: 'the key makes no difference',
    changes: one(ACCEPTANCE, 'const key = purchase.key ?? newKey();', 'const key = newKey();'),
  },
  {
    name: 'a quote buys as often as one likes',
    changes: one(
      'store/migrations/0001-initial.js',
      'CREATE UNIQUE INDEX orders_quote ON',
      'CREATE INDEX orders_quote ON',
    ),
  },
  {
    name: 'a key buys as often as one likes',
    changes: [
      {
        file: 'store/migrations/0001-initial.js',
        find: 'CREATE UNIQUE INDEX orders_key ON',
        put: 'CREATE INDEX orders_key ON',
      },
      { file: ACCEPTANCE, find: 'if (await isSeen)', put: 'if (false)' },
    ],
  },
  {
    name: 'a lost answer is called a refusal',
    changes: one(
      ACCEPTANCE,
      `return new ApiError('SERVICE_UNAVAILABLE', words, { headers, cause: error, retryAfterSec: 2 });`,
      `return new ApiError('CAPACITY_UNAVAILABLE', words, { headers, cause: error, retryAfterSec: 2 });`,
    ),
    first: ['cut after COMMIT', 'Postgres restarted', 'Postgres connections killed'],
  },
  {
    name: 'a lease never runs out',
    changes: one(
      WORK,
      '(lease_until IS NULL OR lease_until < clock_timestamp())\n     ORDER BY next_run_at',
      'lease_until IS NULL\n     ORDER BY next_run_at',
    ),
    first: DEATHS,
  },
  {
    name: 'only the queue wakes orders',
    changes: one(
      WORK,
      'WHERE next_run_at <= clock_timestamp() AND (lease_until IS NULL OR lease_until < clock_timestamp())\n     ORDER BY next_run_at',
      'WHERE false AND next_run_at IS NOT NULL\n     ORDER BY next_run_at',
    ),
    first: ['Redis flushed', 'Redis down'],
  },
  {
    name: 'the next run is forgotten',
    changes: one(WORK, "ELSE clock_timestamp() + held.delay_ms * interval '1 millisecond' END", 'ELSE NULL END'),
  },
  {
    name: 'final as soon as it is in a block',
    changes: [
      { file: SETTLEMENT, find: 'if (blockId === block.id && present.has(', put: 'if (true || present.has(' },
      {
        file: SETTLEMENT,
        find: `AND status = 'included' AND block_id = $2`,
        put: `AND status = 'included' AND $2::bytea IS NOT NULL`,
      },
    ],
    first: FORKS,
  },
  {
    name: 'settled while a leg is not final',
    changes: one(
      SETTLEMENT,
      `t.purpose <> 'reclaim' AND t.status = 'solid'`,
      `t.purpose <> 'reclaim' AND t.status IN ('included', 'solid', 'sending')`,
    ),
    first: FORKS,
  },
  {
    name: 'what falls away stays where it was',
    changes: one(SETTLEMENT, 'await this.inclusion.fallAway(fallen);', ''),
    first: FORKS,
  },
  {
    name: 'a refund gives nothing back',
    changes: one(SQL, "'revenue', 'refund', -c.credits, c.order_id", "'revenue', 'refund', 1, c.order_id"),
    first: SILENCE,
  },
  {
    name: 'delivered whatever arrived',
    changes: one(
      INCLUSION,
      `HAVING bool_and(status = 'active')) s\n    WHERE o.id = s.order_id AND o.status IN ('placed', 'unresolved')`,
      `HAVING bool_or(status = 'active')) s\n    WHERE o.id = s.order_id AND o.status IN ('placed', 'unresolved')`,
    ),
    first: ['refused in truth', 'accepted, then dropped'],
  },
  {
    name: 'the rental is counted from our clock',
    changes: one(
      INCLUSION,
      "ends_at = s.at + o.duration_sec * interval '1 second'",
      "ends_at = clock_timestamp() + o.duration_sec * interval '1 second'",
    ),
  },
  {
    name: 'sent bytes are dropped and built anew',
    changes: [
      {
        file: 'store/migrations/0001-initial.js',
        find: `WHERE status NOT IN ('dead', 'dropped')\``,
        put: `WHERE status NOT IN ('dead', 'dropped', 'sending')\``,
      },
      {
        file: 'fulfilment/work-order.js',
        find: `tx.status !== 'dead' && tx.status !== 'dropped'`,
        put: `tx.status !== 'dead' && tx.status !== 'dropped' && !(tx.status === 'sending' && tx.ageSec > 1)`,
      },
    ],
    first: SILENCE,
  },
  {
    name: 'no fence and no lease',
    changes: [
      {
        file: WORK,
        find: 'SET lease_until = due.until, next_run_at = due.until, fence = o.fence + 1',
        put: 'SET lease_until = NULL, next_run_at = due.until',
      },
      { file: LOG, find: `ON CONFLICT DO NOTHING RETURNING id, leg_id, purpose`, put: `RETURNING id, leg_id, purpose` },
      {
        file: 'store/migrations/0001-initial.js',
        find: 'CREATE UNIQUE INDEX chain_tx_live ON',
        put: 'CREATE INDEX chain_tx_live ON',
      },
      { file: 'store/migrations/0001-initial.js', find: 'UNIQUE (leg_id, purpose, attempt),', put: '' },
    ],
    first: ['worker stopped (SIGSTOP)', 'slow', 'worker clock shifted', 'accept, then time out'],
  },
];

/** Puts a bug into the build at `dist`. Throws when a text is not there exactly once. */
export async function plant(dist: string, bug: PlantedBug): Promise<void> {
  for (const { file, find, put } of bug.changes) {
    const path = join(dist, file);
    const text = await readFile(path, 'utf8');
    const times = text.split(find).length - 1;
    if (times !== 1) throw new Error(`${bug.name}: ${file} has the text ${times.toString()} times: ${find}`);
    await writeFile(
      path,
      text.replace(find, () => put),
    );
  }
}
