/** The doctor's checks of Postgres and Redis. Reads only. */
import { Redis } from 'ioredis';
import type pg from 'pg';
import { nowMs, withDeadline } from '../../platform/support/clock.js';
import type { Config } from '../../platform/config/config.js';
import type { DatabaseSettings } from '../../platform/config/settings.js';
import { reasonOf } from '../../domain/errors.js';
import { databaseFaultOf } from '../../platform/database/database-fault.js';
import { DatabaseHosts } from '../../platform/database/database-hosts.js';
import type { HostState } from '../../platform/database/host-report.js';
import { HostsClient } from '../../platform/database/hosts-client.js';
import { haveOwnSessions, SESSION_ID } from '../../platform/database/own-sessions.js';
import { pendingMigrations } from '../../platform/database/migrate.js';
import { fault, ok, warning, type DoctorFinding } from './doctor-finding.js';
import { checkReplica } from './doctor-replica.js';

const CONNECT_MS = 10_000;
const CLOCK_SKEW_MAX_MS = 2000;

/** Checks that Postgres answers, is migrated, keeps confirmed commits, and has the same time as this machine. */
export async function checkDatabase({ database }: Config): Promise<DoctorFinding[]> {
  const hosts = new DatabaseHosts(database.url);
  const [client, beside] = [clientOf(hosts), clientOf(hosts)];
  try {
    await client.connect();
    const shared = database.directUrl === undefined ? await sharedSessionFindings(client, beside) : [];
    const findings = [
      ...(await readDatabase(client)),
      ...hostFindings(hosts),
      ...(database.directUrl === undefined ? shared : await poolerFindings(client, database)),
      ...(await checkReplica(client, database)),
    ];
    // Migrations are read under a lock of the session.
    if (shared.length > 0) return findings;
    const pending = await pendingMigrations(database.directUrl ?? database.url);
    findings.push(
      pending.length === 0
        ? ok('migrations', 'The schema matches this version.')
        : fault('migrations', `The schema lacks ${pending.join(', ')}.`, 'Run `npm run cli -- migrate`.'),
    );
    return findings;
  } catch (error) {
    const { problem, remedy } = databaseFaultOf(error);
    return [fault('database', `${problem}.`, `${remedy[0]?.toUpperCase() ?? ''}${remedy.slice(1)}.`)];
  } finally {
    await Promise.all([client, beside].map((each) => each.end().catch(() => undefined)));
  }
}

function clientOf(hosts: DatabaseHosts): HostsClient {
  const limits = { connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS };
  const client = new HostsClient({ hosts, ...limits, application_name: 'energy-doctor' });
  client.on('error', () => undefined);
  return client;
}

/** Finds a pooler in transaction mode that nothing bypasses. */
async function sharedSessionFindings(client: pg.Client, beside: pg.Client): Promise<DoctorFinding[]> {
  await beside.connect();
  const asks = [client, beside].map((each) => async () => {
    const { rows } = await each.query<{ pid: number }>(SESSION_ID);
    return rows[0]?.pid ?? 0;
  });
  if (await haveOwnSessions(asks)) return [];
  const says = 'A pooler in transaction mode serves DATABASE_URL, and loses announcements and the lock of migrations.';
  const todo = 'Set DATABASE_DIRECT_URL to the database itself, for every process (docs/high-availability.md).';
  return [fault('pooler', says, todo)];
}

const LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];

/** Checks a pooler: settings that it must apply instead of the process, and features that it would break. */
async function poolerFindings(client: pg.Client, { namedStatements }: DatabaseSettings): Promise<DoctorFinding[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM pg_settings WHERE name = ANY ($1) AND setting = '0' ORDER BY name`,
    [LIMITS],
  );
  const unlimited = rows.map(({ name }) => name).join(', ');
  const findings: DoctorFinding[] = [];
  if (unlimited !== '') {
    const says = `Sessions through DATABASE_URL have no limit by ${unlimited}.`;
    findings.push(
      warning('pooler', says, 'Set the limits for its user with ALTER ROLE … SET (docs/high-availability.md).'),
    );
  }
  if (namedStatements === 'on') {
    const says = 'Prepared statements are enabled, but a pooler in transaction mode loses them.';
    findings.push(warning('pooler', says, 'Set PG_NAMED_STATEMENTS=off.'));
  }
  return findings.length > 0
    ? findings
    : [ok('pooler', 'Sessions through DATABASE_URL have limits and need no session state.')];
}

/** With several hosts, reports the serving one and the remedy for the others. */
function hostFindings(hosts: DatabaseHosts): DoctorFinding[] {
  if (!hosts.areSeveral) return [];
  const serving = ok(
    'database hosts',
    `${hosts.serving ?? 'None'} is the primary, on timeline ${hosts.timeline.toString()}.`,
  );
  const others = [...hosts.known].filter(([name]) => name !== hosts.serving);
  return [serving, ...others.flatMap(([name, state]) => hostFinding(name, state))];
}

function hostFinding(name: string, { state, reason = '' }: HostState): DoctorFinding[] {
  const says = `${name} ${reason}.`;
  switch (state) {
    case 'standby':
      return [ok('database host', says)];
    case 'old':
    case 'foreign': {
      const todo = 'It gets no writes, but stop it and make it a standby of the primary (docs/high-availability.md).';
      return [fault('database host', says, todo)];
    }
    case 'away':
    case 'read_only':
      return [warning('database host', says, 'Bring it back as a standby: until then, there is no failover.')];
    default:
      return [];
  }
}

async function readDatabase(client: pg.Client): Promise<DoctorFinding[]> {
  const beforeMs = nowMs();
  const { rows } = await client.query<{
    now_ms: string;
    version: string;
    fsync: string;
    commit: string;
    is_super: boolean;
  }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms, current_setting('server_version') AS version,
            current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
            current_setting('is_superuser')::boolean AS is_super`,
  );
  const skewMs = Number(rows[0]?.now_ms ?? 0) - (beforeMs + nowMs()) / 2;
  const findings = [ok('database', `Postgres ${rows[0]?.version ?? ''} answers.`)];
  if (rows[0]?.fsync === 'off' || rows[0]?.commit === 'off') {
    const says = 'Postgres confirms writes before they are durable (fsync or synchronous_commit is off).';
    findings.push(warning('durability', says, 'Turn both on: otherwise a crash can lose an accepted order.'));
  }
  if (rows[0]?.is_super === true) {
    const says =
      'The login of DATABASE_URL is a superuser: an attacker in this process would control the database server.';
    findings.push(warning('login', says, 'Give each process its own login: `cli migrate roles --login`.'));
  }
  findings.push(
    Math.abs(skewMs) <= CLOCK_SKEW_MAX_MS
      ? ok('clock', 'The clocks of this machine and the database agree.')
      : warning(
          'clock',
          `The clocks of this machine and the database differ by ${(Math.abs(skewMs) / 1000).toFixed(1)} s.`,
          'Run NTP on both: rentals do not depend on it, but logs and rate limits do.',
        ),
  );
  return findings;
}

/** Checks that Redis answers and never evicts keys. */
export async function checkRedis({ redis: settings }: Config): Promise<DoctorFinding[]> {
  const redis = new Redis(settings.url, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: CONNECT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    // The ready check uses INFO, which a user without dangerous commands may not run. The doctor does not need it.
    enableReadyCheck: false,
  });
  let cause: Error | undefined;
  // A refused connect() itself reports only a closed connection. A refused database number does not fail it: the
  // connection then uses database 0.
  redis.on('error', (error: Error) => (cause = error));
  try {
    await withDeadline(redis.connect(), CONNECT_MS, 'connecting to Redis');
    await redis.ping();
    if (cause !== undefined) throw cause;
    const info = await infoOf(redis);
    const version = /^(?:valkey|redis)_version:(\S+)/m.exec(info)?.[1] ?? '(of an unknown version)';
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? (await policyByConfig(redis));
    return [ok('redis', `Redis ${version} answers.`), policyFinding(policy)];
  } catch (error) {
    const todo =
      'Start Redis, or correct REDIS_URL. Orders are accepted without it, but limits then count per process.';
    return [fault('redis', `Redis refuses the connection: ${reasonOf(cause ?? error)}.`, todo)];
  } finally {
    redis.disconnect();
  }
}

/** Returns the answer of INFO; empty for a user without permission. The service itself never runs it. */
async function infoOf(redis: Redis): Promise<string> {
  try {
    return await redis.info();
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return '';
    throw error;
  }
}

/** Some servers omit the policy from INFO, and hosted ones refuse CONFIG. */
async function policyByConfig(redis: Redis): Promise<string | undefined> {
  try {
    const answer = await redis.config('GET', 'maxmemory-policy');
    return Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : undefined;
  } catch {
    return undefined;
  }
}

function policyFinding(policy: string | undefined): DoctorFinding {
  const todo = 'Set maxmemory-policy to noeviction: an evicted key silently loses a rate limit or a wake-up.';
  if (policy === 'noeviction') return ok('redis eviction', 'Redis never evicts.');
  if (policy === undefined) return warning('redis eviction', 'Redis does not report its eviction policy.', todo);
  return fault('redis eviction', `Redis evicts keys (${policy}).`, todo);
}
