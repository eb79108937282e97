// Delivery time of events to working receivers next to failing ones: 10 000 endpoints, of which a third never answer or
// refuse connections, and thirty events a second.
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { figure, percentile, type Row } from './measure.js';
import { Sealers } from './dist.js';
import { BenchCluster, type BenchClusterOptions } from './cluster.js';

const ENDPOINTS = 10_000;
const EVENTS_PER_SEC = 30;
const DEAD_EVERY = 3;
const DRAIN_LIMIT_MS = 60_000;
const TYPE = 'project.frozen';

/** Every project has one endpoint with its own address, so no two share their turns. */
const MAKE = `WITH made AS (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[]) AS v(project, endpoint, url, secret)),
  projects AS (INSERT INTO project (id, name, api_key_sealed) SELECT project, 'bench', '' FROM made RETURNING id),
  endpoints AS (INSERT INTO webhook_endpoint (id, project_id, url, types, secret_sealed)
    SELECT endpoint, project, url, ARRAY['${TYPE}'], secret FROM made JOIN projects ON projects.id = made.project RETURNING id)
  INSERT INTO webhook_state (endpoint_id) SELECT id FROM endpoints`;

const HAPPEN = {
  name: 'bench_event',
  text: `INSERT INTO event (project_id, type, snapshot) VALUES ($1::uuid, '${TYPE}',
    json_build_object('project', json_build_object('id', $1::uuid, 'name', $2::text, 'frozen', true)))`,
};

type Kind = 'living' | 'silent' | 'absent';

/** Half of the failing ones accept a request and never answer; the others refuse the connection. */
const kindOf = (index: number): Kind =>
  index % DEAD_EVERY !== 0 ? 'living' : index % (2 * DEAD_EVERY) === 0 ? 'silent' : 'absent';

class Receivers {
  /** Time of writing by event name. */
  readonly writtenMs = new Map<string, number>();
  readonly tookMs: number[] = [];

  private constructor(
    private readonly server: Server,
    readonly port: number,
    readonly closedPort: number,
  ) {}

  static async open(): Promise<Receivers> {
    const receive = { body: (_path: string, _body: string): boolean => true };
    const server = createServer((request, response) => {
      let body = '';
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        if (receive.body(request.url ?? '', body)) response.writeHead(204).end();
      });
    });
    const closed = createServer();
    for (const each of [server, closed]) {
      each.listen(0, '0.0.0.0');
      await once(each, 'listening');
    }
    const [port, closedPort] = [server, closed].map((each) => (each.address() as AddressInfo).port) as [number, number];
    await new Promise((resolve) => closed.close(resolve));
    const receivers = new Receivers(server, port, closedPort);
    receive.body = (path, body) => receivers.take(path, body);
    return receivers;
  }

  get env(): NodeJS.ProcessEnv {
    return {
      WEBHOOK_PORTS: `${this.port.toString()},${this.closedPort.toString()}`,
      WEBHOOK_ALLOW_HTTP: 'true',
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    };
  }

  urlOf(index: number): string {
    const kind = kindOf(index);
    const host = `127.${(10 + Math.floor(index / 62_500)).toString()}.${(Math.floor(index / 250) % 250).toString()}.${((index % 250) + 2).toString()}`;
    return `http://${host}:${(kind === 'absent' ? this.closedPort : this.port).toString()}/${kind}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Returns true if the request is to be answered. */
  private take(path: string, body: string): boolean {
    if (path !== '/living') return false;
    const { data } = JSON.parse(body) as { data: { project: { name: string } } };
    const written = this.writtenMs.get(data.project.name);
    // Counts the first delivery only: a repeated one was late the first time.
    if (written !== undefined && this.writtenMs.delete(data.project.name))
      this.tookMs.push(performance.now() - written);
    return true;
  }
}

/** Measures `seconds` of events, after an equal time in which the sender detects the failing receivers. */
export async function webhookRows(options: BenchClusterOptions, seconds: number): Promise<Row[]> {
  const receivers = await Receivers.open();
  const cluster = await BenchCluster.open({ ...options, env: { ...options.env, ...receivers.env } });
  try {
    const projects = await makeEndpoints(cluster, receivers);
    await cluster.service.startWorker({ LOG_LEVEL: 'info' });
    await cluster.service.startSender({ LOG_LEVEL: 'info' });
    await happen(cluster, receivers, projects, seconds);
    await drained(receivers);
    receivers.tookMs.length = 0;
    await happen(cluster, receivers, projects, seconds);
    await drained(receivers);
    const { tookMs } = receivers;
    const [failing] = await cluster.database.query<{ count: bigint }>(
      'SELECT count(*) AS count FROM webhook_state WHERE failures > 0',
    );
    return [
      {
        ...figure(
          'event → living receiver, 30 events/s over 10 000 endpoints, a third dead',
          '–',
          'ms',
          'p99 ≤ 2 000',
          tookMs,
        ),
        p50Ms: percentile(tookMs, 50),
        p99Ms: percentile(tookMs, 99),
        note: `${tookMs.length.toString()} events, ${(failing?.count ?? 0n).toString()} endpoints failing in the end`,
      },
    ];
  } finally {
    await cluster.close();
    receivers.close();
  }
}

async function makeEndpoints(cluster: BenchCluster, receivers: Receivers): Promise<readonly string[]> {
  const { webhookSecret } = cluster.parts.get(Sealers);
  const made = Array.from({ length: ENDPOINTS }, (_, index) => {
    const id = randomUUID();
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    return {
      project: randomUUID(),
      id,
      url: receivers.urlOf(index),
      secret: webhookSecret.seal(Buffer.from(secret), id),
    };
  });
  for (let from = 0; from < made.length; from += 1000) {
    const part = made.slice(from, from + 1000);
    await cluster.database.query(MAKE, [
      part.map(({ project }) => project),
      part.map(({ id }) => id),
      part.map(({ url }) => url),
      part.map(({ secret }) => secret),
    ]);
  }
  await cluster.database.query('ANALYZE webhook_endpoint, webhook_state, project');
  return made.map(({ project }) => project);
}

/** Writes events of random projects at a constant rate. */
async function happen(
  cluster: BenchCluster,
  { writtenMs }: Receivers,
  projects: readonly string[],
  seconds: number,
): Promise<void> {
  const startedMs = performance.now();
  const writing: Promise<unknown>[] = [];
  for (let n = 0; n < seconds * EVENTS_PER_SEC; n += 1) {
    const waitMs = startedMs + (n * 1000) / EVENTS_PER_SEC - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const index = Math.floor(Math.random() * projects.length);
    const name = randomUUID();
    if (kindOf(index) === 'living') writtenMs.set(name, performance.now());
    writing.push(cluster.database.query(HAPPEN, [projects[index], name]));
  }
  await Promise.all(writing);
}

/** Waits for all deliveries. An event that never arrives is an error, not a latency. */
async function drained({ writtenMs }: Receivers): Promise<void> {
  const endsAt = performance.now() + DRAIN_LIMIT_MS;
  while (writtenMs.size > 0) {
    if (performance.now() > endsAt) throw new Error(`${writtenMs.size.toString()} events never came`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
