// The same statement through pgbench, if it is on PATH: the throughput of Postgres without JavaScript.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Sample } from './measure.js';

const run = promisify(execFile);
/** As many connections as the service uses for orders. */
const CLIENTS = 14;

export interface PgbenchOrders {
  readonly databaseUrl: string;
  readonly projects: readonly string[];
  readonly receiver: string;
  readonly amountSun: string;
}

export async function hasPgbench(): Promise<boolean> {
  return run('pgbench', ['--version']).then(
    () => true,
    () => false,
  );
}

/** Places orders of random projects for this many seconds. */
export async function pgbenchOrders(orders: PgbenchOrders, seconds: number): Promise<Sample> {
  const dir = await mkdtemp(join(tmpdir(), 'energy-pgbench-'));
  const script = join(dir, 'orders.sql');
  const { projects, receiver, amountSun } = orders;
  const statement = `\\set project random(1, ${projects.length.toString()})
SELECT created, order_id, order_created_at, same_request FROM take_order(
  ('{${projects.join(',')}}'::uuid[])[:project], ('{${projects.join(',')}}'::uuid[])[:project], gen_random_uuid()::text, sha256('bench'), 'rental', NULL, NULL,
  '${receiver}', 65000, 3600, 2925000, 8775000, 30000000, ${amountSun}, 1, NULL, 'pgbench');
`;
  const { hostname, port, username, password, pathname } = new URL(orders.databaseUrl);
  const clients = CLIENTS.toString();
  try {
    await writeFile(script, statement);
    const args = ['-n', '-M', 'prepared', '-c', clients, '-j', '1', '-T', seconds.toString(), '-f', script];
    const { stdout } = await run('pgbench', [...args, decodeURIComponent(pathname.slice(1))], {
      env: {
        ...process.env,
        PGHOST: hostname,
        PGPORT: port === '' ? '5432' : port,
        PGUSER: decodeURIComponent(username),
        PGPASSWORD: decodeURIComponent(password),
      },
      timeout: (seconds + 60) * 1000,
    });
    const perSec = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
    const meanMs = Number(/^latency average = ([\d.]+)/m.exec(stdout)?.[1]);
    const failed = Number(/number of failed transactions: (\d+)/.exec(stdout)?.[1] ?? 0);
    if (Number.isNaN(perSec)) throw new Error(`pgbench said no figure: ${stdout}`);
    return { perSec, p50Ms: meanMs, p99Ms: Number.NaN, wrong: failed };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
