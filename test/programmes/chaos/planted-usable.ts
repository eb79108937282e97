// Planted bugs in keeping a rental's energy usable when another rental of its receiver ends.
import { one, ENDING, LEASES, LOG, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const LOSSES = 'modules/fulfilment/plan/usage-losses.ts';
const RUNNING = 'modules/fulfilment/plan/running-rentals.ts';
const USAGE = 'modules/fulfilment/loop/receiver-usage.ts';
const RECLAIM_CHECKS = 'modules/fulfilment/advance/reclaim-checks.ts';

const inUnit = (title: string): NamedTest => ({ file: 'unit/fulfilment/usage-losses.test.ts', title });
const ofTopUps = (title: string): NamedTest => ({ file: 'long/fulfilment/usable-energy-top-ups.test.ts', title });
const onChain = (title: string): NamedTest => ({ file: 'long/fulfilment/usable-energy.test.ts', title });
const inReports = (title: string): NamedTest => ({ file: 'integration/reports/reports.test.ts', title });
const PROPERTY = inUnit('no running rental has less usable energy than it sold minus the usage during its time');

export const PLANTED_USABLE: readonly PlantedBug[] = [
  {
    // No named test: the rounds must catch it.
    name: 'what ended rentals leave behind is never topped up',
    changes: one(
      RUNNING,
      "const lost = resource === 'ENERGY' ? lostOf(order, totals, clockMs) : 0n;",
      'const lost = 0n;',
    ),
  },
  {
    name: 'what a reclaim leaves behind is forgotten',
    changes: one(LOSSES, 'energy: orZero(before + counted - moved),', 'energy: 0n,'),
    test: PROPERTY,
  },
  {
    name: 'what earlier reclaims left behind is forgotten',
    changes: one(LOSSES, 'energy: orZero(before + counted - moved),', 'energy: orZero(counted - moved),'),
    test: PROPERTY,
  },
  {
    name: 'used energy counts against the rental that goes on',
    changes: one(
      LOSSES,
      'const counted = least(used - before, reclaim.sold);',
      'const counted = moved0(used, reclaim);',
    ).concat(
      one(
        LOSSES,
        'const orZero = (a: bigint)',
        'const moved0 = (used: bigint, reclaim: ReclaimReading): bigint => (used * reclaim.taken) / (reclaim.limit + 1n);\nconst orZero = (a: bigint)',
      ),
    ),
    test: PROPERTY,
  },
  {
    name: 'reclaims that were read together are counted as if each were the first',
    changes: one(LOSSES, 'applied.filter(({ block }) => block > reclaim.readBlock)', 'applied.slice(0, 0)'),
    test: inUnit('counts each use once for reclaims that were read before each other’s blocks'),
  },
  {
    name: 'a delegation between a reading and its reclaim is forgotten',
    changes: one(LOSSES, 'orZero(reclaim.limit + added -', 'orZero(reclaim.limit -'),
    test: PROPERTY,
  },
  {
    name: 'a delegation between a reading and its reclaim is forgotten once it has ended',
    changes: one(USAGE, 'new Map([...ended, ...standing]', 'new Map([...standing]'),
    test: ofTopUps('a receiver’s usage names the block of each delegation, running or ended'),
  },
  {
    name: 'what a reverted reclaim left is not weighed again',
    changes: one(
      'modules/fulfilment/follow/inclusion.ts',
      'await tx.query(WEIGH_AGAIN, [moved.map((entry) => entry.leg_id)]);',
      'await tx.query(WEIGH_AGAIN, [[]]);',
    ),
    test: onChain('the usage that a reclaim leaves is weighed again after its block is reverted'),
  },
  {
    name: 'what was left behind recovers sooner than on the chain',
    changes: one(LOSSES, 'Math.exp(-ms / DAY_MS)', 'Math.exp((-2 * ms) / DAY_MS)'),
    test: inUnit('leftover usage recovers, never slower than the chain allows'),
  },
  {
    name: 'the energy of other parties bears nothing of what was left behind',
    changes: one(LOSSES, 'if (others === 0n) return left;', 'if (others >= 0n) return left;'),
    test: inUnit('compensates rentals for their share, and for all of it if the receiver has no other energy'),
  },
  {
    name: 'the reading of a reclaim is not recorded with it',
    changes: one(LOG, 'await insertUsage(tx, read, inserted);', ''),
    test: onChain(
      'a rental beside which a used one ends has all the energy that it sold, free of charge, until its own end',
    ),
  },
  {
    name: 'nobody looks for what reclaims cost',
    changes: one(LEASES, 'FROM (${LOST}) lost WHERE', 'FROM (${LOST}) lost WHERE false AND'),
    test: onChain(
      'a rental beside which a used one ends has all the energy that it sold, free of charge, until its own end',
    ),
  },
  {
    name: 'a top-up for what a reclaim cost is charged',
    changes: one(
      ENDING,
      'if (left !== undefined) await recordLeftover(tx, order, left);',
      `if (left !== undefined) await recordLeftover(tx, order, left);
        await tx.query(
          \`INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
            VALUES ('charge:' || $1 || ':top-up', $2, 'revenue', 'charge', -1, $1)\`,
          [order.id, order.projectId],
        );`,
    ),
    test: onChain(
      'a rental beside which a used one ends has all the energy that it sold, free of charge, until its own end',
    ),
  },
  {
    name: 'a top-up that came to nothing is not made anew',
    changes: one(
      ENDING,
      "if (legs.some(({ isTopUp, kind }) => isTopUp && kind === 'rental')) await tx.query(WEIGH_AGAIN",
      'if (legs.length < 0) await tx.query(WEIGH_AGAIN',
    ),
    test: onChain('a top-up that comes to nothing is made again'),
  },
  {
    name: 'the receiver’s advisory lock is not taken',
    changes: one(ENDING, 'await tx.query(HOLD_RECEIVER, [receiver]);', ''),
    test: ofTopUps('two workers that top up different rentals of one receiver reserve one top-up'),
  },
  {
    name: 'the cause of a top-up is left out of the archive',
    changes: one(
      SCHEMA,
      'closed_by_txid, closed_reason, top_up, top_up_cause',
      'closed_by_txid, closed_reason, top_up',
    ),
    test: ofTopUps('explain shows a top-up and its cause, also of an archived order'),
  },
  {
    name: 'a reading is closed while a rental that ran beside the reclaim goes on',
    changes: one(USAGE, 'o.ends_at > t.block_at + $2::int', 'o.ends_at < t.block_at + $2::int'),
    test: ofTopUps('a reading is closed once no rental that ran beside the reclaim goes on'),
  },
  {
    name: 'a report counts paid legs as free top-ups',
    changes: one('modules/reports/report-sql.ts', 'AND g.top_up JOIN orders', 'AND NOT g.top_up JOIN orders'),
    test: inReports('names the energy of free top-ups and their burn'),
  },
  {
    name: 'a reclaim without a reading does not wait for one',
    changes: one(
      RECLAIM_CHECKS,
      'if (this.reclaimReadings.isPatienceOver(clockMs - (order.endsAtMs ?? clockMs))) return [build];',
      'return [build];',
    ),
    test: onChain('a reclaim waits while no node answers for the receiver’s energy'),
  },
];
