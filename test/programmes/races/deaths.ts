// A process dies, or loses its database, before and after COMMIT. A retry with the key finds or makes the order. None
// is lost or doubled, and no caller is informed that a committed order failed.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { CrashPoint } from '../../../src/platform/support/crash-point.js';
import { until } from '../../../packages/local/src/wait.js';
import type { Answer, Customer } from '../../support/api/client.js';
import { makeCustomer, startApi } from '../../support/api/factory.js';
import { recordsOf, tally, type RaceCluster, type Row } from './cluster.js';
import { openCuttingProxy, type CuttingProxy, type Moment } from './cutting-proxy.js';

const PLENTY = 1_000_000_000_000n;
const say = (kills: number, committed: number, orders: number, charges: number, retries: string) =>
  `${kills.toString()} died, ${committed.toString()} of them after COMMIT, ${orders.toString()} orders, ` +
  `${charges.toString()} charges, retries: ${retries}`;

/** Crash points of the API; true if the order is committed by then. */
const POINTS: readonly (readonly [CrashPoint, boolean])[] = [
  ['accept.before', false],
  ['accept.after', true],
  ['wake.after', true],
  ['answer.before', true],
];

const order = (cluster: RaceCluster) => ({
  receive_address: cluster.chain.receivers[4]!,
  energy: 65_000,
  bandwidth: 1000,
});

/** Kills a separate process at a named point while it accepts an order, then retries at another process. */
export async function killedAtPoints(cluster: RaceCluster, times: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [point, isCommitted] of POINTS) {
    const customer = await makeCustomer(cluster.services, PLENTY);
    const retries: Answer[] = [];
    let deaths = 0;
    let committed = 0;
    for (let round = 0; round < times; round += 1) {
      const victim = await startApi({ ...cluster.env, CRASH_AT: `${point}:1` });
      const headers = { 'Idempotency-Key': randomUUID() };
      const lost = await customer
        .at(victim.baseUrl)
        .post('/v1/orders', order(cluster), headers)
        .catch(() => undefined);
      await victim.process.exited;
      if (lost === undefined) deaths += 1;
      committed += (await recordsOf(cluster, customer.merchant)).orders - round;
      retries.push(await customer.at(cluster.urls[0]).post('/v1/orders', order(cluster), headers));
    }
    const records = await recordsOf(cluster, customer.merchant);
    const count = times.toString();
    rows.push({
      race: `API killed at ${point}`,
      done: `${count} kills`,
      wanted: say(times, isCommitted ? times : 0, times, times, `${count} × 202`),
      found: say(deaths, committed, records.orders, records.charges, tally(retries)),
    });
  }
  return rows;
}

/** Kills a process while its statement waits in the database. The database then finishes it without a client. */
export async function killedDuringCommit(cluster: RaceCluster, times: number): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const retries: Answer[] = [];
  let deaths = 0;
  for (let round = 0; round < times; round += 1) {
    const victim = await startApi(cluster.env);
    const headers = { 'Idempotency-Key': randomUUID() };
    const blocker = new pg.Client({ connectionString: cluster.env['DATABASE_URL'] });
    await blocker.connect();
    try {
      await blocker.query('BEGIN');
      await blocker.query('SELECT 1 FROM credit_account WHERE project_id = $1 FOR UPDATE', [customer.merchant]);
      const lost = customer
        .at(victim.baseUrl)
        .post('/v1/orders', order(cluster), headers)
        .catch(() => undefined);
      await until(async () => ((await isWaiting(cluster)) ? true : undefined), 10_000, 'the order waiting');
      victim.process.signal('SIGKILL');
      await victim.process.exited;
      if ((await lost) === undefined) deaths += 1;
    } finally {
      victim.process.signal('SIGKILL');
      await blocker.query('COMMIT').catch(() => undefined);
      await blocker.end();
    }
    retries.push(await customer.at(cluster.urls[1]).post('/v1/orders', order(cluster), headers));
  }
  const records = await recordsOf(cluster, customer.merchant);
  const line = (orders: number, charges: number, died: number, answers: string) =>
    `${died.toString()} died, ${orders.toString()} orders, ${charges.toString()} charges, retries: ${answers}`;
  return {
    race: 'API killed while COMMIT is under way',
    done: `${times.toString()} kills`,
    wanted: line(times, times, times, `${times.toString()} × 202`),
    found: line(records.orders, records.charges, deaths, tally(retries)),
  };
}

async function isWaiting(cluster: RaceCluster): Promise<boolean> {
  const rows = await cluster.database.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%take_order(%'`,
  );
  return rows.length > 0;
}

/** Cuts a process's connection to Postgres before and after COMMIT was sent: the same request still succeeds. */
export async function cutConnections(cluster: RaceCluster, times: number): Promise<Row[]> {
  const proxy = await openCuttingProxy(cluster.env['DATABASE_URL']!, 'accept-order', 'take_order(');
  const victim = await startApi({ ...cluster.env, DATABASE_URL: proxy.url });
  try {
    const rows: Row[] = [];
    for (const moment of ['before COMMIT', 'after COMMIT'] as const) {
      rows.push(await cutAt(cluster, proxy, victim.baseUrl, moment, times));
    }
    return rows;
  } finally {
    await victim.process.stop();
    await proxy.close();
  }
}

async function cutAt(
  cluster: RaceCluster,
  proxy: CuttingProxy,
  url: string,
  moment: Moment,
  times: number,
): Promise<Row> {
  const customer: Customer = await makeCustomer(cluster.services, PLENTY);
  const answers: Answer[] = [];
  const retries: Answer[] = [];
  const cutsBefore = proxy.cuts();
  for (let round = 0; round < times; round += 1) {
    const headers = { 'Idempotency-Key': randomUUID() };
    proxy.arm(moment);
    // Every other caller sends no key; the answer names the generated one.
    const isKeyed = round % 2 === 0;
    const answer = await customer.at(url).post('/v1/orders', order(cluster), isKeyed ? headers : {});
    answers.push(answer);
    const key = answer.headers['idempotency-key'] ?? '';
    retries.push(await customer.at(cluster.urls[0]).post('/v1/orders', order(cluster), { 'Idempotency-Key': key }));
  }
  const records = await recordsOf(cluster, customer.merchant);
  const same = answers.filter((answer, index) => answer.text === retries[index]?.text).length;
  const line = (cut: number, orders: number, charges: number, equal: number, statuses: string) =>
    `${cut.toString()} cut, ${orders.toString()} orders, ${charges.toString()} charges, ` +
    `${equal.toString()} retries with the same body, ${statuses}`;
  return {
    race: `connection to Postgres cut ${moment}`,
    done: `${times.toString()} cuts`,
    wanted: line(times, times, times, times, `${times.toString()} × 202`),
    found: line(proxy.cuts() - cutsBefore, records.orders, records.charges, same, tally(answers)),
  };
}
