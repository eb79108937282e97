// The CPU of an order's life with webhooks on: its four events go to the shop's webhook. The idle consumption of all
// processes counts, because it is what few orders pay for.
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openBuild } from '../upgrade/earlier-build.js';
import type { BenchCluster } from './cluster.js';
import { Sealers } from './dist.js';
import type { Probed } from './life-probe.js';
import { pause, spentRow, STEADY_MS, type Spent } from './lives.js';
import type { Row } from './measure.js';
import { openService, tableOf, type Service } from './rows-life.js';

/** At three orders a second, a shop's events stay below the twenty a second of one host. */
const ORDERS_OF_A_SHOP = 3;
/** A shop rents for its customers. */
const RECEIVERS = 500;
const DELIVERED_LIMIT_MS = 60_000;

const ADD_WEBHOOK = `WITH made AS (INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $2, $3, $4) RETURNING id)
  INSERT INTO webhook_state (endpoint_id) SELECT id FROM made`;
const UNDELIVERED = `SELECT (SELECT count(*) FROM event WHERE position IS NULL AND type IS NOT NULL)
  + (SELECT count(*) FROM webhook_delivery WHERE status <> 'delivered') AS count`;

export interface WebhookPace {
  /** Orders a second, one measurement each. */
  readonly rates: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
}

/** Measures both builds in turn, since many orders a second need the whole machine. */
export async function webhookOrderRows(pace: WebhookPace, against: string | undefined): Promise<Row[]> {
  const earlier = against === undefined ? undefined : await openBuild(against);
  const receiver = await openReceiver();
  const env = {
    WEBHOOK_PORTS: (receiver.address() as AddressInfo).port.toString(),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  const services: Service[] = [];
  try {
    services.push(await openService({ env, receivers: RECEIVERS }));
    if (earlier !== undefined) services.push(await openService({ env, receivers: RECEIVERS, build: earlier.root }));
    const shops = Math.ceil(Math.max(...pace.rates) / ORDERS_OF_A_SHOP);
    for (const { cluster, meter } of services) {
      await addWebhooks(cluster, shops, env.WEBHOOK_PORTS);
      await meter.startWorkers();
      await meter.startSender();
    }
    // Discarded: the processes are cold, and the first service would pay for it.
    for (const service of services) await measure(service, pace.rates[0] ?? 1, { ...pace, rounds: 1 });
    const rows: Row[] = [];
    for (const rate of pace.rates) {
      const measured: Measured[] = [];
      for (const service of services) measured.push(await measure(service, rate, pace));
      const [ours, limit] = measured;
      if (ours === undefined) throw new Error('at least one service is measured');
      console.log(tableOf(ours.probed, limit?.probed));
      rows.push(rowOf(rate, against, ours, limit));
    }
    for (const { cluster } of services) await requireDelivered(cluster);
    return rows;
  } finally {
    for (const { cluster, probe } of services) {
      await probe.close();
      await cluster.close();
    }
    receiver.closeAllConnections();
    receiver.close();
    await earlier?.remove();
  }
}

interface Measured {
  readonly spent: readonly Spent[];
  readonly probed: Probed;
  readonly perSec: number;
}

function rowOf(rate: number, against: string | undefined, ours: Measured, limit: Measured | undefined): Row {
  const row = spentRow(
    {
      what: `CPU of an order’s whole life with a webhook, ${rate.toString()} orders a second, idle consumption included`,
      against: limit === undefined ? '–' : `the build of ${against ?? ''}`,
      goal: 'ratio ≤ 0.50',
    },
    { ours: ours.spent, limit: (limit ?? ours).spent },
  );
  const reached = [ours, limit].flatMap((each) => (each === undefined ? [] : each.perSec.toFixed(1))).join(' beside ');
  const note = `${row.note ?? ''}; ${reached} orders a second`;
  return limit === undefined ? { ...row, limit: undefined, ratio: undefined, note } : { ...row, note };
}

/** Buys until as many orders end as begin, and then for the measured rounds. */
async function measure({ meter, probe }: Service, rate: number, { rounds, seconds }: WebhookPace): Promise<Measured> {
  const over = new AbortController();
  meter.buying = meter.buyOn(over.signal, rate, Math.ceil(rate / ORDERS_OF_A_SHOP));
  await Promise.race([meter.buying, pause(STEADY_MS)]);
  await probe.start();
  const [from, fromMs] = [meter.orders, performance.now()];
  const spent: Spent[] = [];
  for (let round = 0; round < rounds; round += 1) spent.push(await meter.wholeWindow(seconds * 1000));
  const [bought, tookMs] = [meter.orders - from, performance.now() - fromMs];
  const probed = await probe.end(bought);
  over.abort();
  await meter.buying;
  return { spent, probed, perSec: (bought * 1000) / tookMs };
}

async function openReceiver(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end());
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  return server;
}

/** Gives each shop a webhook at an address of its own, because the sender limits the requests to one address. */
async function addWebhooks(cluster: BenchCluster, shops: number, port: string): Promise<void> {
  const { webhookSecret } = cluster.parts.get(Sealers);
  for (let shop = 0; shop < shops; shop += 1) {
    const id = randomUUID();
    const secret = webhookSecret.seal(Buffer.from(`whsec_${randomBytes(24).toString('base64')}`), id);
    const url = `http://127.10.0.${(shop + 2).toString()}:${port}/`;
    await cluster.database.query(ADD_WEBHOOK, [id, cluster.tenant(shop).id, url, secret]);
  }
}

/** Every event of every order must have been delivered. */
async function requireDelivered(cluster: BenchCluster): Promise<void> {
  const endsAt = performance.now() + DELIVERED_LIMIT_MS;
  for (;;) {
    const [row] = await cluster.database.query<{ count: bigint }>(UNDELIVERED);
    if (row?.count === 0n) return;
    if (performance.now() > endsAt) throw new Error(`${row?.count.toString() ?? ''} events are not delivered`);
    await pause(500);
  }
}
