// What refused callers cost the others: a paying project beside twelve that have no credits, and the connections to
// Postgres that refusals open.
import { randomBytes } from 'node:crypto';
import autocannon from 'autocannon';
import type { Pace } from './rows-http.js';
import { figure, median, type Row } from './measure.js';
import type { Stage, Tenant } from './stage.js';

const PAYING_PER_SEC = 50;
const REFUSED_CALLERS = 12;
const REFUSED_PER_SEC = 25;
const REFUSALS = 1000;
/** Longer than a round of other rows: fifty a second are few. */
const SECONDS_FACTOR = 2;
/** Postgres counts a session once it says so, at most every second. */
const COUNTED_MS = 1500;

function orders(stage: Stage, tenant: Tenant): autocannon.Request[] {
  const request = stage.request(tenant, 'POST', '/v1/orders', { receive_address: stage.sender, energy: 65_000 });
  const setupRequest = (made: autocannon.Request): autocannon.Request => ({
    ...made,
    headers: { ...made.headers, 'Idempotency-Key': randomBytes(16).toString('base64url') },
  });
  return [{ ...request, setupRequest }];
}

/** Sends at a fixed rate; returns the median latency. Any other status than `status` fails the bench. */
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

async function sessions(stage: Stage): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
  const [row] = await stage.database.query<{ sessions: bigint }>(
    `SELECT sessions FROM pg_stat_database WHERE datname = current_database()`,
  );
  return Number(row?.sessions ?? 0n);
}

export async function refusalRows(stage: Stage, pace: Pace): Promise<Row[]> {
  const seconds = pace.seconds * SECONDS_FACTOR;
  const paying = { perSec: PAYING_PER_SEC, connections: 10, seconds, status: 202 };
  const refused = { perSec: REFUSED_CALLERS * REFUSED_PER_SEC, connections: REFUSED_CALLERS, seconds, status: 402 };
  const poor: autocannon.Request[] = [];
  for (let index = 0; index < REFUSED_CALLERS; index += 1) poor.push(...orders(stage, await stage.poorTenant(index)));
  const payer = orders(stage, stage.tenant(0));
  const [alone, beside, ratios]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < pace.rounds; round += 1) {
    const single = await at(stage.apiUrl, payer, paying);
    const [together] = await Promise.all([at(stage.apiUrl, payer, paying), at(stage.apiUrl, poor, refused)]);
    alone.push(single);
    beside.push(together);
    ratios.push(together / single);
  }
  const before = await sessions(stage);
  const burst = Math.ceil(REFUSALS / refused.perSec);
  await at(stage.apiUrl, poor, { ...refused, seconds: burst });
  const opened = (await sessions(stage)) - before;
  return [
    {
      ...figure('p50 of 50 orders a second beside 300 refused', 'the same alone', 'ms', 'ratio ≤ 1.50', beside),
      limit: median(alone),
      ratio: median(ratios),
      spread: [Math.min(...ratios), Math.max(...ratios)],
    },
    figure('connections to Postgres opened by 1 000 refusals', '–', '', '0', [opened]),
  ];
}
