// A failover that loses commits: positions that callers have read are never reused.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../../packages/local/src/postgres.js';
import { EventLog, type EventPage } from '../../../src/modules/events/event-log.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { migrateUp } from '../../../src/platform/database/migrate.js';
import { Standby } from '../../programmes/chaos/failover.js';
import { openAsOwner } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';

const PROJECT = '00000000-0000-4000-8000-000000000001';
const EVENT = `INSERT INTO event (project_id, type, snapshot)
  VALUES ('${PROJECT}', 'project.frozen', json_build_object('project', json_build_object('id', $1::text, 'name', '', 'frozen', true)))`;

type Seen = readonly [type: string, position: number, name: string | undefined];

/** Adds events with these names, each numbered immediately. Returns a caller's page after `after`. */
async function play(url: string, names: readonly string[], after: number): Promise<Seen[]> {
  const database = await openAsOwner(url);
  try {
    const numberer = new Numberer(database, new Metrics(), openLog('silent'));
    for (const name of names) {
      await database.query(EVENT, [name]);
      await numberer.numberBatch();
    }
    const page = (await new EventLog(database).read(PROJECT, BigInt(after), undefined, 100)) as EventPage;
    return page.items.map(({ payload }) => {
      const event = JSON.parse(payload) as { type: string; position: number; data: { project?: { id: string } } };
      return [event.type, event.position, event.data.project?.id];
    });
  } finally {
    await database.source.destroy();
  }
}

it('after a failover that lost commits, a caller who goes on from the last position read misses nothing', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'energy-events-'));
  let server = await startPostgres({ durable: false, dataDir });
  let standby: Standby | undefined;
  try {
    await migrateUp(server.url);
    const owner = await openAsOwner(server.url);
    await owner.query(`INSERT INTO project (id, name, api_key_sealed) VALUES ($1, 'p', 'x')`, [PROJECT]);
    await owner.source.destroy();
    expect(await play(server.url, ['a', 'b'], 0)).toEqual([
      ['project.frozen', 1, 'a'],
      ['project.frozen', 2, 'b'],
    ]);
    standby = await Standby.copyOf(server, dataDir);
    const keeper = await openAsOwner(server.url);
    const [kept] = await keeper.query<{ lsn: string }>(`SELECT pg_current_wal_lsn()::text AS lsn`);
    await keeper.source.destroy();
    const lost = await play(server.url, ['c', 'd', 'e'], 2);
    expect(lost.map(([, position, name]) => [position, name])).toEqual([
      [3, 'c'],
      [4, 'd'],
      [5, 'e'],
    ]);
    // Flushes WAL that is only in memory and would be lost with the server.
    const flusher = await openAsOwner(server.url);
    await flusher.query('SELECT pg_switch_wal()');
    await flusher.source.destroy();
    const { port } = server;
    // SIGQUIT skips the shutdown checkpoint, which would remove WAL that the standby still needs.
    server.signal('SIGQUIT');
    await server.stop();
    server = await standby.promote(kept!.lsn, port);
    expect(await play(server.url, ['f', 'g'], 5)).toEqual([
      ['log.restarted', 1_000_003, undefined],
      ['project.frozen', 1_000_004, 'f'],
      ['project.frozen', 1_000_005, 'g'],
    ]);
  } finally {
    await server.stop();
    await standby?.remove();
    await rm(dataDir, { recursive: true, force: true });
  }
});
