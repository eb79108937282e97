// Races for auto-delegations: many workers that see one use, many purchases under one number, and all possible changes
// concurrently.
import { forEachConcurrently } from '../../../src/platform/support/concurrency.js';
import type { ClaimedAutoDelegation } from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import type { Bought } from '../../../src/modules/auto-delegations/refill-statement.js';
import { until } from '../../../packages/local/src/wait.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { retryWithoutConnection } from '../../support/database/pool-retry.js';
import { refundOrder } from '../../support/api/order-fixture.js';
import { startWorker } from './aftermath.js';
import type { RaceCluster, Row } from './cluster.js';
import { openCuttingProxy, type Moment } from './cutting-proxy.js';
import { Keeper, letSleep, makeDue, openOrders, purchasesOf, put, RENTED_SEC } from './keepers.js';

const PLENTY = 1_000_000_000_000n;
const KEEPERS = 3;
const SETTLED_LIMIT_MS = 60_000;
const EXTENDED_SEC = 300;
const say = (count: number | bigint, what: string): string => `${count.toString()} ${what}`;

export interface KeepSize {
  readonly rounds: number;
  readonly observers: number;
  readonly cuts: number;
  readonly interleaved: number;
}

/** Races uses, purchases and changes while no worker delivers. Leaves no auto-delegation behind. */
export const keptSupplied = async (cluster: RaceCluster, size: KeepSize, note: (row: Row) => void): Promise<void> =>
  withKeepers(cluster, async (keepers) => {
    note(await oneUse(cluster, keepers, size));
    note(await oneNumber(cluster, keepers, size));
    note(await cutPurchases(cluster, keepers, 'before COMMIT', size));
    note(await cutPurchases(cluster, keepers, 'after COMMIT', size));
    note(await everythingAtOnce(cluster, keepers, size.interleaved));
    note(await recordsOfAutos(cluster, keepers));
  });

/** Races on a rental that a worker has delivered. Leaves no auto-delegation behind. */
export const extendedOnce = async (cluster: RaceCluster, size: KeepSize, note: (row: Row) => void): Promise<void> =>
  withKeepers(cluster, async (keepers) => {
    note(await extensionOrOrder(cluster, keepers, size));
    note(await recordsOfAutos(cluster, keepers));
  });

async function withKeepers(cluster: RaceCluster, work: (keepers: readonly Keeper[]) => Promise<void>): Promise<void> {
  const keepers: Keeper[] = [];
  try {
    for (let index = 0; index < KEEPERS; index += 1) keepers.push(await Keeper.open(cluster.env));
    await work(keepers);
  } finally {
    await cluster.database.query('DELETE FROM auto_delegation');
    for (const keeper of keepers) await keeper.close();
  }
}

const at = <T>(list: readonly T[], index: number): T => list[index % list.length]!;

/** Many observers see the same use of an address and check it concurrently: one order results. */
async function oneUse(cluster: RaceCluster, keepers: readonly Keeper[], { rounds, observers }: KeepSize): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const address = cluster.chain.receivers[10]!;
  await letSleep(cluster);
  const id = await put(cluster, customer, address, PLENTY);
  const ordersPerRound: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const keeper of keepers) await keeper.look();
    const before = await purchasesOf(cluster, id);
    const block = keepers[0]!.useOf([address]);
    await Promise.all(
      Array.from({ length: observers }, async (_, index) => {
        const keeper = at(keepers, index);
        await keeper.uses.observeBlocks([block]);
        await keeper.refills.checkDue();
      }),
    );
    await checkedAll(cluster, keepers);
    ordersPerRound.push((await purchasesOf(cluster, id)) - before);
    await refundOpen(cluster);
  }
  const marked = await sumOf(keepers.map((keeper) => keeper.marked()));
  const line = (orders: number, most: number, least: number, uses: number) =>
    `${say(orders, 'orders')}, at most ${most.toString()} and at least ${least.toString()} for a use, ${say(uses, 'uses recorded')}`;
  const orders = ordersPerRound.reduce((sum, count) => sum + count, 0);
  return {
    race: 'one use, many observers',
    done: `${rounds.toString()} uses × ${observers.toString()} observers of three workers`,
    wanted: line(rounds, 1, 1, rounds),
    found: line(orders, Math.max(...ordersPerRound), Math.min(...ordersPerRound), marked),
  };
}

/**
 * Many purchases under one number and one fence: one succeeds. In every second round, a change of the setting raises
 * the fence between them.
 */
async function oneNumber(
  cluster: RaceCluster,
  keepers: readonly Keeper[],
  { rounds, observers }: KeepSize,
): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const address = cluster.chain.receivers[11]!;
  await letSleep(cluster);
  const id = await put(cluster, customer, address, PLENTY);
  const tally = new Winners();
  for (let round = 0; round < rounds; round += 1) {
    const row = await claimed(cluster, keepers, id);
    const before = await purchasesOf(cluster, id);
    const isChanged = round % 2 === 1;
    const outcomes = await Promise.all(
      Array.from({ length: observers }, async (_, index) => {
        if (isChanged && index === observers >> 1) await put(cluster, customer, address, PLENTY);
        return at(keepers, index).buy(row);
      }),
    );
    tally.add(isChanged, outcomes, (await purchasesOf(cluster, id)) - before);
    await refundOpen(cluster);
  }
  return tally.row('one number, many purchases, the setting changed among every other', rounds, observers);
}

/** Extensions and orders under one number and fence: one of them succeeds. */
async function extensionOrOrder(
  cluster: RaceCluster,
  keepers: readonly Keeper[],
  { rounds, observers }: KeepSize,
): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const address = cluster.chain.receivers[12]!;
  await letSleep(cluster);
  const id = await put(cluster, customer, address, PLENTY);
  const orderId = await settledOrder(cluster, keepers, id);
  const tally = new Winners();
  for (let round = 0; round < rounds; round += 1) {
    const row = await claimed(cluster, keepers, id);
    const before = await purchasesOf(cluster, id);
    const isChanged = round % 2 === 1;
    const outcomes = await Promise.all(
      Array.from({ length: observers }, async (_, index) => {
        const keeper = at(keepers, index);
        if (isChanged && index === observers >> 1) await put(cluster, customer, address, PLENTY);
        return index % 4 === 0 ? keeper.buy(row) : keeper.extend(row, orderId, EXTENDED_SEC);
      }),
    );
    tally.add(isChanged, outcomes, (await purchasesOf(cluster, id)) - before);
    await refundOpen(cluster);
  }
  return tally.row('one number, orders and extensions', rounds, observers);
}

/** Winners by round: exactly one, or at most one if the settings changed meanwhile. */
class Winners {
  private exact = 0;
  private changed = 0;
  private off = 0;

  add(isChanged: boolean, outcomes: readonly Bought[], purchases: number): void {
    const won = outcomes.filter((outcome) => 'orderId' in outcome && outcome.orderId !== undefined).length;
    if (isChanged) this.changed += 1;
    else if (purchases === 1) this.exact += 1;
    // A purchase that is answered as existing was made by another participant.
    if (purchases > 1 || won < purchases) this.off += 1;
  }

  row(race: string, rounds: number, parallel: number): Row {
    const line = (exact: number, changed: number, off: number) =>
      `${say(exact, 'rounds with one purchase')}, ${say(changed, 'with a change and at most one')}, ${say(off, 'others')}`;
    return {
      race,
      done: `${rounds.toString()} rounds × ${parallel.toString()} at once`,
      wanted: line(rounds - (rounds >> 1), rounds >> 1, 0),
      found: line(this.exact, this.changed, this.off),
    };
  }
}

/** Cuts a worker's connection to Postgres at its purchase: all workers together still buy once. */
async function cutPurchases(
  cluster: RaceCluster,
  keepers: readonly Keeper[],
  moment: Moment,
  { cuts: rounds }: KeepSize,
): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const address = cluster.chain.receivers[moment === 'before COMMIT' ? 13 : 14]!;
  await letSleep(cluster);
  const id = await put(cluster, customer, address, PLENTY);
  const proxy = await openCuttingProxy(cluster.env['DATABASE_URL']!, 'buy_for_auto_delegation');
  const victim = await Keeper.open({ ...cluster.env, DATABASE_URL: proxy.url });
  let bought = 0;
  let known = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const keeper of [victim, ...keepers]) await keeper.look();
      await makeDue(cluster);
      const before = await purchasesOf(cluster, id);
      proxy.arm(moment);
      await victim.refills.checkDue();
      known += (await purchasesOf(cluster, id)) - before;
      await checkedAll(cluster, [victim, ...keepers]);
      bought += (await purchasesOf(cluster, id)) - before;
      await refundOpen(cluster);
    }
  } finally {
    await victim.close();
    await proxy.close();
  }
  const line = (cut: number, then: number, all: number) =>
    `${say(cut, 'cut')}, ${say(then, 'purchases made by then')}, ${say(all, 'orders in the end')}`;
  return {
    race: `connection of a worker cut ${moment} of its purchase`,
    done: `${rounds.toString()} cuts`,
    wanted: line(rounds, moment === 'before COMMIT' ? 0 : rounds, rounds),
    found: line(proxy.cuts(), known, bought),
  };
}

/** Uses, checks, purchases, changes, deletions, freezes and refunds of a few auto-delegations, all concurrent. */
async function everythingAtOnce(cluster: RaceCluster, keepers: readonly Keeper[], operations: number): Promise<Row> {
  const customers = [await makeCustomer(cluster.services, PLENTY), await makeCustomer(cluster.services, PLENTY)];
  const players = cluster.chain.receivers
    .slice(15, 23)
    .map((address, index) => ({ address, of: at(customers, index) }));
  const refunding = new Set<string>();
  let failed = 0;
  const done: Record<string, number> = {};
  const acts: readonly (readonly [string, number, (index: number) => Promise<unknown>])[] = [
    [
      'uses',
      0.25,
      async (index) => {
        const keeper = at(keepers, index);
        await keeper.look();
        await keeper.uses.observeBlocks([
          keeper.useOf(players.filter((_, player) => player % 2 === index % 2).map(addressOf)),
        ]);
      },
    ],
    [
      'checks',
      0.3,
      async (index) => {
        // Includes rows that another worker is checking now.
        if (index % 4 === 0) await makeDue(cluster);
        await at(keepers, index).refills.checkDue();
      },
    ],
    [
      'purchases',
      0.1,
      async (index) => {
        const { address, of } = at(players, index);
        const [row] = await cluster.database.query<ClaimedAutoDelegation>(
          'SELECT * FROM auto_delegation WHERE project_id = $1 AND address = $2',
          [of.merchant, address],
        );
        if (row !== undefined) await Promise.all(keepers.map((keeper) => keeper.buy(row)));
      },
    ],
    ['changes', 0.1, (index) => put(cluster, at(players, index).of, at(players, index).address, at(CAPS, index >> 3))],
    [
      'deletions',
      0.04,
      async (index) => {
        const { address, of } = at(players, index);
        const both = [of.merchant, address];
        await cluster.database.query('DELETE FROM auto_delegation WHERE project_id = $1 AND address = $2', both);
      },
    ],
    [
      'freezes',
      0.04,
      async (index) => {
        await cluster.ledger.setFrozen(at(customers, index).merchant, true, AUTHOR);
        await cluster.ledger.setFrozen(at(customers, index).merchant, false, AUTHOR);
      },
    ],
    [
      'refunds',
      1,
      async () => {
        const mine = new Set(customers.map(({ merchant }) => merchant));
        const open = (await openOrders(cluster)).find(
          (order) => mine.has(order.project_id) && !refunding.has(order.key),
        );
        if (open === undefined) return;
        refunding.add(open.key);
        await refundOrder(cluster.services, open.project_id, open.key);
      },
    ],
  ];
  await letSleep(cluster);
  for (const { address, of } of players) await put(cluster, of, address, at(CAPS, 0));
  await forEachConcurrently(
    Array.from({ length: operations }, (_, index) => index),
    24,
    async (index) => {
      let choice = Math.random();
      const [name, , act] = acts.find(([, share]) => (choice -= share) < 0)!;
      done[name] = (done[name] ?? 0) + 1;
      try {
        await retryWithoutConnection(() => act(index));
      } catch (error) {
        failed += 1;
        console.error(name, error);
      }
    },
  );
  await checkedAll(cluster, keepers);
  const [row] = await cluster.database.query<{ count: number; most: number }>(
    `SELECT count(*)::int AS count, coalesce(max(a.spent_credits) > ${at(CAPS, 1).toString()}, false)::int AS most
       FROM auto_delegation a WHERE project_id = ANY ($1)`,
    [customers.map(({ merchant }) => merchant)],
  );
  const line = (faults: number, above: number) => `${say(faults, 'faults')}, ${say(above, 'above the larger cap')}`;
  const counts = Object.entries(done).map(([name, count]) => say(count, name));
  return {
    race: 'auto-delegations: everything at once',
    done: `${operations.toString()} (${counts.join(', ')}), ${refunding.size.toString()} orders refunded`,
    wanted: line(0, 0),
    found: line(failed, row!.most),
  };
}

/** An order of 130 000 energy costs 17 550 000 credits: caps for two and for four of them a day. */
const CAPS = [40_000_000n, 75_000_000n] as const;
const addressOf = ({ address }: { readonly address: string }): string => address;

/** Checks the records of every auto-delegation, including deleted ones. */
async function recordsOfAutos(cluster: RaceCluster, keepers: readonly Keeper[]): Promise<Row> {
  const [row] = await cluster.database.query<{
    autos: number;
    gaps: number;
    twice: number;
    off: number;
    above: number;
  }>(
    `WITH bought AS (
       SELECT split_part(k.key, '_', 2)::bigint AS id, split_part(k.key, '_', 3)::bigint AS number, k.extension, o.id AS order_id,
              o.created_at, c.credits AS charged, c.created_at AS charged_at, r.credits AS refunded, r.created_at AS refunded_at
         FROM order_key k JOIN orders o ON o.id = k.order_id
         JOIN credit_entry c ON c.entry_key = 'charge:' || o.id || coalesce(':ext:' || k.extension, '')
         LEFT JOIN credit_entry r ON r.kind = 'refund' AND r.order_id = o.id AND k.extension IS NULL
        WHERE k.key LIKE 'auto\\_%'),
     numbered AS (SELECT id, max(number) - count(*) AS gaps FROM bought GROUP BY id),
     spent AS (
       SELECT a.id, a.spent_credits, a.daily_cap_credits, coalesce(-sum(b.charged + coalesce(b.refunded, 0)), 0) AS sum
         FROM auto_delegation a LEFT JOIN bought b ON b.id = a.id AND (b.charged_at AT TIME ZONE 'UTC')::date = a.spent_on
        GROUP BY a.id)
     SELECT (SELECT count(*)::int FROM numbered) AS autos,
            (SELECT count(*)::int FROM numbered WHERE gaps <> 0) AS gaps,
            (SELECT count(*)::int FROM bought b JOIN bought n ON n.id = b.id AND n.number > b.number
              WHERE b.extension IS NULL AND n.extension IS NULL AND b.order_id NOT IN (SELECT id FROM orders WHERE status = 'delivered')
                AND (b.refunded_at IS NULL OR b.refunded_at > n.created_at)) AS twice,
            (SELECT count(*)::int FROM spent WHERE spent_credits <> sum) AS off,
            (SELECT count(*)::int FROM spent WHERE sum > greatest(daily_cap_credits, ${CAPS[1].toString()})) AS above`,
  );
  const deadlocks = keepers.reduce((sum, keeper) => sum + keeper.deadlocks, 0);
  const line = ({ gaps, twice, off, above, locked }: Record<'gaps' | 'twice' | 'off' | 'above' | 'locked', number>) =>
    `${say(gaps, 'with gaps in their numbers')}, ${say(twice, 'times two open orders')}, ${say(off, 'sums unlike the charges')}, ` +
    `${say(above, 'above their cap')}, ${say(locked, 'deadlocks')}`;
  return {
    race: 'records of all auto-delegations up to here',
    done: `${row!.autos.toString()} auto-delegations`,
    wanted: line({ gaps: 0, twice: 0, off: 0, above: 0, locked: 0 }),
    found: line({ ...row!, locked: deadlocks }),
  };
}

/** Checks everything due repeatedly, until nothing more follows. */
async function checkedAll(cluster: RaceCluster, keepers: readonly Keeper[]): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    for (const keeper of keepers) {
      await keeper.look();
      await makeDue(cluster);
      await keeper.refills.checkDue();
    }
  }
}

async function refundOpen(cluster: RaceCluster): Promise<void> {
  for (const { key, project_id: projectId } of await openOrders(cluster)) {
    await refundOrder(cluster.services, projectId, key);
  }
}

/** Claims an auto-delegation for a check that no other worker makes. */
async function claimed(cluster: RaceCluster, keepers: readonly Keeper[], id: bigint): Promise<ClaimedAutoDelegation> {
  for (const keeper of keepers) await keeper.look();
  await makeDue(cluster);
  const row = (await keepers[0]!.claims.claimDue(100)).find((each) => each.id === id);
  if (row === undefined) throw new Error('the auto-delegation is not due');
  return row;
}

/** Returns its first order, delivered by a worker and settled. */
async function settledOrder(cluster: RaceCluster, keepers: readonly Keeper[], id: bigint): Promise<bigint> {
  await checkedAll(cluster, keepers);
  const worker = await startWorker(cluster);
  try {
    return await until(
      async () => {
        const [order] = await cluster.database.query<{ id: bigint }>(
          `SELECT id FROM orders WHERE key = 'auto_' || $1 || '_1' AND settled AND duration_sec = ${RENTED_SEC.toString()}`,
          [id.toString()],
        );
        return order?.id;
      },
      SETTLED_LIMIT_MS,
      'the rental being settled',
    );
  } finally {
    await worker.stop();
  }
}

async function sumOf(numbers: readonly Promise<number>[]): Promise<number> {
  return (await Promise.all(numbers)).reduce((sum, number) => sum + number, 0);
}
