/** Messages for operators about a database that accepts no connection: unreachable, busy, or refusing the login. */
import { reasonOf, type StartCode } from '../../domain/errors.js';
import { sqlStateOf } from './database.js';

const TOO_MANY = '53300';
const NOT_YET = '57P03';
/**
 * Messages by which poolers report that all connections are taken, mostly with the SQLSTATE of a protocol violation
 * (08P01). PgBouncer names `max_client_conn`, `query_wait_timeout` or `client_login_timeout`. Supavisor and RDS Proxy
 * have their own wording.
 */
const POOLER_IS_FULL =
  /no more connections allowed|query_wait_timeout|client_login_timeout|max client connections reached|MaxClientsInSessionMode|timed-out waiting to acquire database connection/i;
/** Messages of PgBouncer that it cannot reach its server at present. */
const POOLER_IS_WAITING = /server_login_retry|server login has been failing|pgbouncer cannot connect to server/i;

interface DatabaseFault {
  readonly code: Extract<StartCode, 'DATABASE_UNAVAILABLE' | 'DATABASE_BUSY'>;
  /** The problem, as a clause without a full stop. */
  readonly problem: string;
  readonly remedy: string;
}

/** Describes a failed connection. */
export function databaseFaultOf(thrown: unknown): DatabaseFault {
  const reason = reasonOf(thrown);
  const why = busyReasonOf(thrown);
  if (why === 'full') {
    return {
      code: 'DATABASE_BUSY',
      problem: `All connections of the database of DATABASE_URL are in use (${reason})`,
      remedy:
        'Close unused connections, lower DATABASE_POOL_MAX of the processes, or raise max_connections or the limit of the role or pooler',
    };
  }
  if (why === 'starting') {
    return {
      code: 'DATABASE_BUSY',
      problem: `The database of DATABASE_URL is still starting and accepts no connections (${reason})`,
      remedy: 'Wait until it has started, or check its log',
    };
  }
  const known = KNOWN.find(({ is }) => causesOf(thrown).some(is));
  return {
    code: 'DATABASE_UNAVAILABLE',
    problem: `The database of DATABASE_URL ${known?.problem ?? 'is unreachable'} (${reason})`,
    remedy: known?.remedy ?? 'start it, or correct DATABASE_URL',
  };
}

interface Cause {
  readonly message: string;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

/** Returns the error with all of its causes: each host that was tried, each wrapper. */
function causesOf(thrown: unknown): Cause[] {
  if (typeof thrown !== 'object' || thrown === null || !('message' in thrown)) return [];
  const cause = thrown as Cause;
  return [cause, ...(cause.errors ?? []).flatMap(causesOf), ...causesOf(cause.cause)];
}

const codeOf = ({ code }: Cause): string => (typeof code === 'string' ? code : '');
const withCode =
  (...codes: readonly string[]) =>
  (error: Cause): boolean =>
    codes.includes(codeOf(error));
const saying =
  (words: RegExp) =>
  (error: Cause): boolean =>
    words.test(error.message);

/** Known reasons of failed connections, as the server, a pooler or the network reports them. */
const KNOWN: readonly {
  readonly is: (error: Cause) => boolean;
  readonly problem: string;
  readonly remedy: string;
}[] = [
  {
    is: withCode('28P01'),
    problem: 'refuses the password',
    remedy: 'correct user and password in DATABASE_URL, or set a new password with `cli migrate roles --login`',
  },
  {
    is: withCode('28000'),
    problem: 'refuses this user',
    remedy: 'create the login with `cli migrate roles --login`, allow it in pg_hba.conf, or correct DATABASE_URL',
  },
  {
    is: withCode('3D000'),
    problem: 'does not exist on that server',
    remedy: 'create it, or correct the name at the end of DATABASE_URL',
  },
  {
    is: saying(/unable to (verify the first|get (local )?issuer) certificate|self-signed certificate/),
    problem: 'presents a certificate of an unknown authority',
    remedy:
      'add the authority’s certificate: `sslrootcert=/path/to/ca.pem` in DATABASE_URL (docs/commands.md has the modes of TLS)',
  },
  {
    is: saying(/does not match certificate's altnames/),
    problem: 'presents a certificate of another host',
    remedy:
      'use the certificate’s host name in DATABASE_URL, or `sslmode=require` with `uselibpqcompat=true` (docs/commands.md)',
  },
  {
    is: saying(/certificate has expired/),
    problem: 'presents an expired certificate',
    remedy: 'renew the certificate of the server, or the file of `sslrootcert` in DATABASE_URL',
  },
  {
    is: saying(/does not support SSL/),
    problem: 'does not accept TLS',
    remedy: 'turn on `ssl` in its server, or remove `sslmode` from DATABASE_URL',
  },
  {
    is: withCode('ECONNREFUSED'),
    problem: 'is unreachable',
    remedy: 'start it, or correct DATABASE_URL',
  },
  {
    is: withCode('ENOTFOUND', 'EAI_AGAIN'),
    problem: 'is unreachable: its host has no address',
    remedy: 'correct the host in DATABASE_URL, or the name server',
  },
  {
    is: (error) => withCode('ETIMEDOUT')(error) || saying(/timeout (expired|exceeded)|connection timeout/i)(error),
    problem:
      'did not answer in time: it, this machine or the network is overloaded, or a firewall drops the connection',
    remedy: 'try again later; otherwise check that host and port of DATABASE_URL are reachable from here',
  },
];

/** Returns true if the database answered and may accept a connection soon. */
export function isDatabaseBusy(thrown: unknown): boolean {
  return busyReasonOf(thrown) !== undefined;
}

/** Returns one or two sentences for the end of a process or command. */
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
