// One failover while customers buy. The primary is killed and its standby promoted; the service must resume sales by
// itself. The old primary returns and accepts writes, but must receive none. Measures durations and returns violations.
import type pg from 'pg';
import type { ChaosCluster } from '../chaos/cluster.js';
import { lossBetween, recordedBy, untilMoreIsRecorded, type Recorded } from '../chaos/failover.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { freePort } from '../../../packages/local/src/ports.js';
import { until } from '../../../packages/local/src/wait.js';
import type { PatroniServers } from './patroni.js';
import { Server } from './server.js';
import { Servers } from './servers.js';

/** Time after a promotion within which orders must be accepted again. */
const SELLS_LIMIT_MS = 15_000;
/** Prefix of the one violation that may result from a busy machine; all others end the run. */
export const LATE = 'sold again only';
/** Time after which the service counts as lost for good. */
const WAIT_MS = 120_000;
const LOAD_MS = 5_000;
/** Time that an old primary runs next to the new one. */
const BACK_MS = 8_000;

export interface Kept {
  /** Keys of orders accepted after the promotion, which must exist in the end. */
  readonly keys: string[];
  readonly lines: string[];
}

type Say = (line: string) => void;
type Rows = Pick<pg.Pool, 'query'>;

export async function failOver(
  {
    cluster,
    servers,
    name,
    kept,
  }: { cluster: ChaosCluster; servers: Servers | PatroniServers; name: string; kept: Kept },
  over: AbortSignal,
): Promise<string[]> {
  const wrong: string[] = [];
  const say: Say = (line) => void kept.lines.push(line);
  await sleep(LOAD_MS, over);
  const pids = pidsOf(cluster);
  const { primary: old, standby: next } = servers;
  if (servers instanceof Servers && !servers.isSynchronous) await loseWithIt(cluster, servers, over, say);
  else await old.kill();
  const killedAt = performance.now();
  await servers.promote();
  const promotedAt = performance.now();
  say(`killed -9: ${old.name}; promoted: ${next.name}, ${ms(promotedAt - killedAt)} later`);
  for (const [n, tookMs] of (await sellsAgain(cluster, name, promotedAt, kept)).entries()) {
    say(`api ${n.toString()} took an order ${ms(tookMs)} after the promotion`);
    if (tookMs > SELLS_LIMIT_MS) wrong.push(`api ${n.toString()} ${LATE} ${ms(tookMs)} after the promotion`);
  }
  // Under Patroni an old primary never returns as a primary.
  if (old instanceof Server) wrong.push(...(await comeBack(cluster, old, say)));
  const rejoinAt = performance.now();
  const way = await servers.rejoin();
  say(`${old.name} follows again, by ${way}, in ${ms(performance.now() - rejoinAt)}`);
  const ended = pids.filter((pid) => !pidsOf(cluster).includes(pid));
  if (ended.length > 0) wrong.push(`${ended.length.toString()} processes of the service ended`);
  else say(`${pids.length.toString()} processes of the service went through it without a restart`);
  return wrong;
}

/** An asynchronous standby that was cut off shortly before: the primary's later commits are lost. */
async function loseWithIt(cluster: ChaosCluster, servers: Servers, over: AbortSignal, say: Say): Promise<void> {
  const { primary: old, standby } = servers;
  await servers.cut();
  await untilMoreIsRecorded(cluster.sql, await recordedBy(cluster.sql), over);
  await old.kill();
  // Started at a port that no client knows, to read everything that was ever confirmed.
  const aside = await freePort();
  await old.start({ synchronous_standby_names: '' }, aside);
  const before = await recordedOn(old, aside);
  await old.stop();
  const after = await recordedOn(standby, standby.port);
  const loss = lossBetween(before, after);
  for (const txid of loss.txids) cluster.lostTxids.add(txid);
  cluster.onLoss(loss);
  cluster.receivers.excuseLoss();
  const sent = [...before.sent.keys()].filter((txid) => !after.sent.has(txid)).length;
  say(`lost with it: ${loss.orders.size.toString()} orders and ${sent.toString()} transactions that were sent`);
}

async function recordedOn(server: Server, port: number): Promise<Recorded> {
  const rows: Rows = {
    query: (async (text: string) => ({ rows: await server.ask(text, [], port) })) as unknown as pg.Pool['query'],
  };
  return recordedBy(rows as pg.Pool);
}

/** Returns the time from the promotion until each API accepted an order. Tries new keys until one succeeds. */
async function sellsAgain(cluster: ChaosCluster, name: string, promotedAt: number, kept: Kept): Promise<number[]> {
  const receive_address = cluster.service.accounts[0]?.address;
  const sell = async (api: (typeof cluster.rich)[number], n: number): Promise<number> => {
    for (let attempt = 0; performance.now() - promotedAt < WAIT_MS; attempt += 1) {
      const key = `${name}-again-${n.toString()}-${attempt.toString()}`;
      const body = { receive_address, energy: 32_000, duration_sec: 60 };
      const answer = await api.post('/v1/orders', body, { 'Idempotency-Key': key }).catch(() => undefined);
      if (answer !== undefined && answer.status < 300) {
        kept.keys.push(key);
        return performance.now() - promotedAt;
      }
      await sleep(100);
    }
    return Number.POSITIVE_INFINITY;
  };
  return Promise.all(cluster.rich.map(sell));
}

/** The old primary is back at its address and accepts writes; the service must not use it. */
async function comeBack(cluster: ChaosCluster, old: Server, say: Say): Promise<string[]> {
  // Without autovacuum, every writing transaction is a client's.
  await old.start({ synchronous_standby_names: '', autovacuum: 'off' });
  const [first] = await old.ask<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  const seen = await seenAsOld(cluster, old.name);
  await sleep(BACK_MS);
  const [last] = await old.ask<{ next: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next');
  const writes = Number(last?.next) - Number(first?.id) - 1;
  say(
    `${old.name} was back and took a write of ours (${first?.id ?? '?'}); called old by ${seen.toString()} of ` +
      `${cluster.adminPorts.length.toString()} processes; transactions that wrote there since: ${writes.toString()}`,
  );
  const wrong = writes === 0 ? [] : [`${old.name}, an old primary, took ${writes.toString()} writes`];
  if (seen < cluster.adminPorts.length) wrong.push(`only ${seen.toString()} processes saw that ${old.name} is old`);
  return wrong;
}

/** Returns the number of processes that report the host as old, once all do or after the time limit. */
async function seenAsOld(cluster: ChaosCluster, host: string): Promise<number> {
  const line = `pg_host_state{host="${host}",state="old"} 1`;
  let seen = 0;
  const look = async (): Promise<true | undefined> => {
    const texts = await Promise.all(
      cluster.adminPorts.map(async ({ port }) =>
        fetch(`http://127.0.0.1:${port.toString()}/metrics`, { signal: AbortSignal.timeout(5_000) })
          .then(async (response) => response.text())
          .catch(() => ''),
      ),
    );
    seen = texts.filter((text) => text.includes(line)).length;
    return seen === cluster.adminPorts.length ? true : undefined;
  };
  await until(look, WAIT_MS, 'all processes', 500).catch(() => undefined);
  return seen;
}

function pidsOf(cluster: ChaosCluster): number[] {
  return cluster.service.processes.map(({ pid }) => pid);
}

function ms(duration: number): string {
  return `${Math.round(duration).toString()} ms`;
}
