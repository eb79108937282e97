// The effect of one caller on others: a paying project next to twelve without credits, and next to one that lists
// orders on many connections. Also the Postgres connections that refusals open.
import { randomBytes } from 'node:crypto';
import autocannon from 'autocannon';
import type { Pace } from './rows-http.js';
import { drive, figure, median, type Row } from './measure.js';
import type { BenchCluster, Tenant } from './cluster.js';

const PAYING_PER_SEC = 50;
const REFUSED_CALLERS = 12;
const REFUSED_PER_SEC = 25;
const REFUSALS = 1000;
const LISTING_CONNECTIONS = 64;
const LISTED = 100;
/** Longer than a round of other rows, since fifty orders a second are few. */
const SECONDS_FACTOR = 2;
/** Postgres publishes session statistics at most every second. */
const COUNTED_MS = 1500;

function orders(cluster: BenchCluster, tenant: Tenant): autocannon.Request[] {
  const request = cluster.request(tenant, 'POST', '/v1/orders', { receive_address: cluster.sender, energy: 65_000 });
  const setupRequest = (made: autocannon.Request): autocannon.Request => ({
    ...made,
    headers: { ...made.headers, 'Idempotency-Key': randomBytes(16).toString('base64url') },
  });
  return [{ ...request, setupRequest }];
}

/** Sends at a fixed rate and returns the median latency. Any status other than `status` fails the bench. */
async function at(
  url: string,
  requests: readonly autocannon.Request[],
  rate: { readonly perSec: number; readonly connections: number; readonly seconds: number; readonly status: number },
): Promise<number> {
  const result = await autocannon({
    url,
    connections: rate.connections,
    overallRate: rate.perSec,
    duration: rate.seconds,
    timeout: 20,
    requests: [...requests],
  });
  const wrong = Object.keys(result.statusCodeStats ?? {}).filter((status) => status !== rate.status.toString());
  if (wrong.length > 0 || result.errors > 0)
    throw new Error(`answered ${wrong.join(', ')}, not ${rate.status.toString()}`);
  return result.latency.p50;
}

async function sessions(cluster: BenchCluster): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
  const [row] = await cluster.database.query<{ sessions: bigint }>(
    `SELECT sessions FROM pg_stat_database WHERE datname = current_database()`,
  );
  return Number(row?.sessions ?? 0n);
}

/** Measures one project's order latency (p50) alone and next to `disturb`, alternating. */
async function beside(
  what: string,
  goal: string,
  pace: Pace,
  alone: (seconds: number) => Promise<number>,
  disturb: (seconds: number) => Promise<unknown>,
): Promise<Row> {
  const seconds = pace.seconds * SECONDS_FACTOR;
  const [single, together, ratios]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < pace.rounds; round += 1) {
    const first = await alone(seconds);
    const [second] = await Promise.all([alone(seconds), disturb(seconds)]);
    single.push(first);
    together.push(second);
    ratios.push(second / first);
  }
  return {
    ...figure(what, 'the same alone', 'ms', goal, together),
    limit: median(single),
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
  };
}

/** Creates a page of orders and returns the request that lists it. */
async function listing(cluster: BenchCluster): Promise<autocannon.Request> {
  const tenant = cluster.tenant(1);
  for (let index = 0; index < LISTED; index += 1) {
    const { status } = await cluster.send(
      cluster.request(tenant, 'POST', '/v1/orders', { receive_address: cluster.sender, energy: 65_000 }),
    );
    if (status !== 202) throw new Error(`an order to be listed was answered ${status.toString()}`);
  }
  return cluster.request(tenant, 'GET', `/v1/orders?limit=${LISTED.toString()}`);
}

export async function fairnessRows(cluster: BenchCluster, pace: Pace): Promise<Row[]> {
  const paying = { perSec: PAYING_PER_SEC, connections: 10, status: 202 };
  const refused = { perSec: REFUSED_CALLERS * REFUSED_PER_SEC, connections: REFUSED_CALLERS, status: 402 };
  const poor: autocannon.Request[] = [];
  for (let index = 0; index < REFUSED_CALLERS; index += 1)
    poor.push(...orders(cluster, await cluster.poorTenant(index)));
  const payer = orders(cluster, cluster.tenant(0));
  const alone = async (seconds: number): Promise<number> => at(cluster.apiUrl, payer, { ...paying, seconds });
  // Warm-up: the first orders of a process fill its caches.
  await alone(pace.seconds);
  const besideRefused = await beside(
    'p50 of 50 orders a second beside 300 refused',
    'ratio ≤ 1.50',
    pace,
    alone,
    async (seconds) => at(cluster.apiUrl, poor, { ...refused, seconds }),
  );
  const page = await listing(cluster);
  let listed = 0;
  const besideLists = await beside(
    `p50 of 50 orders a second beside ${LISTING_CONNECTIONS.toString()} connections that list`,
    'ratio ≤ 2.00',
    pace,
    alone,
    async (seconds) => {
      const lists = { url: cluster.apiUrl, connections: LISTING_CONNECTIONS, requests: [page], expect: [200] };
      const { perSec, wrong } = await drive(lists, seconds);
      if (wrong > 0) throw new Error(`${wrong.toString()} lists were not answered`);
      listed = perSec;
    },
  );
  // Connections that idled during the lists are reopened by the first requests in any case.
  await at(cluster.apiUrl, poor, { ...refused, seconds: 2 });
  const before = await sessions(cluster);
  await at(cluster.apiUrl, poor, { ...refused, seconds: Math.ceil(REFUSALS / refused.perSec) });
  const opened = (await sessions(cluster)) - before;
  return [
    besideRefused,
    { ...besideLists, note: `${Math.round(listed).toString()} lists of ${LISTED.toString()} orders a second` },
    figure('connections to Postgres opened by 1 000 refusals', '–', '', '0', [opened]),
  ];
}
