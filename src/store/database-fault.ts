/** What an operator reads of a database that does not let a process in: whether it is away, busy, or refuses the login. */
import { reasonOf, type StartCode } from '../domain/errors.js';
import { sqlStateOf } from './database.js';

const TOO_MANY = '53300';
const NOT_YET = '57P03';
/**
 * How poolers say that every connection is taken, mostly under the state of a broken protocol (08P01): PgBouncer with
 * `max_client_conn`, `query_wait_timeout` and `client_login_timeout`, Supavisor and RDS Proxy in words of their own.
 */
const POOLER_IS_FULL =
  /no more connections allowed|query_wait_timeout|client_login_timeout|max client connections reached|MaxClientsInSessionMode|timed-out waiting to acquire database connection/i;
/** How PgBouncer says that it does not reach its server just now. */
const POOLER_IS_WAITING = /server_login_retry|server login has been failing|pgbouncer cannot connect to server/i;

interface DatabaseFault {
  readonly code: Extract<StartCode, 'DATABASE_UNAVAILABLE' | 'DATABASE_BUSY'>;
  /** What is wrong, as a clause without its end. */
  readonly problem: string;
  readonly remedy: string;
}

/** Describes why no connection came about. `setting` names the one that holds the URL. */
export function databaseFaultOf(thrown: unknown, setting = 'DATABASE_URL'): DatabaseFault {
  const reason = reasonOf(thrown);
  const why = busyReasonOf(thrown);
  if (why === 'full') {
    return {
      code: 'DATABASE_BUSY',
      problem: `All connections of the database of ${setting} are taken (${reason})`,
      remedy:
        'End what holds them, lower DATABASE_POOL_MAX of the processes, or raise max_connections or the limit of the role or pooler',
    };
  }
  if (why === 'starting') {
    return {
      code: 'DATABASE_BUSY',
      problem: `The database of ${setting} answers, and accepts no connection yet (${reason})`,
      remedy: 'Wait until it has started, or look into its log',
    };
  }
  return {
    code: 'DATABASE_UNAVAILABLE',
    problem: `The database of ${setting} cannot be reached (${reason})`,
    remedy: `start it, or correct ${setting}`,
  };
}

/** Whether the database answered, and may let the process in a moment later. */
export function isDatabaseBusy(thrown: unknown): boolean {
  return busyReasonOf(thrown) !== undefined;
}

/** A message in one sentence or two, as a process or command ends with it. */
export function databaseFaultText({ code, problem, remedy }: DatabaseFault): string {
  return code === 'DATABASE_BUSY' ? `${problem}. ${remedy}.` : `${problem}: ${remedy}.`;
}

function busyReasonOf(thrown: unknown): 'full' | 'starting' | undefined {
  const state = sqlStateOf(thrown);
  if (state === TOO_MANY) return 'full';
  if (state === NOT_YET) return 'starting';
  if (thrown instanceof AggregateError) {
    return thrown.errors.map(busyReasonOf).find((reason) => reason !== undefined);
  }
  if (!(thrown instanceof Error)) return undefined;
  if (POOLER_IS_FULL.test(thrown.message)) return 'full';
  if (POOLER_IS_WAITING.test(thrown.message)) return 'starting';
  return busyReasonOf(thrown.cause);
}
