/**
 * Parses the URL of a Postgres with one or several hosts, in libpq's form:
 * `postgres://user:password@h1:5432,h2:5433/database?sslmode=verify-full`. All parts except host and port are shared.
 */

/** More hosts are likely a mistake: each is tried whenever a connection is lost. */
const HOSTS_MAX = 9;
/** libpq's values for a server that accepts writes. This service cannot use any other server. */
const TARGETS: ReadonlySet<string> = new Set(['read-write', 'primary']);
/** libpq's values that can select a standby. */
const STANDBYS: ReadonlySet<string> = new Set(['standby', 'prefer-standby', 'read-only', 'any']);

export interface PostgresHost {
  /** As the operator named it: `h1:5432`. Never contains a user or a password. */
  readonly name: string;
  /** The URL of this host alone, in a form that every client accepts. */
  readonly url: string;
}

/** Returns the hosts of a URL in order, or its fault as the end of a sentence. The fault reveals nothing of the URL. */
export function postgresHosts(text: string, wanted?: 'standby'): readonly PostgresHost[] | string {
  const match = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(text);
  if (match === null) return 'must be URLs starting with postgres: or postgresql:';
  const [, scheme = '', authority = '', rest = ''] = match;
  const at = authority.lastIndexOf('@') + 1;
  const parts = authority.slice(at).split(',');
  if (parts.length > 1 && parts.includes('')) return 'must not have an empty host between commas';
  const urls = parts.map((part) => `${scheme}${authority.slice(0, at)}${part}${rest}`);
  if (!urls.every((url) => URL.canParse(url))) return 'must be URLs starting with postgres: or postgresql:';
  const wrong = wrongAbout(parts, new URL(urls[0] ?? '').searchParams, wanted);
  if (wrong !== undefined) return wrong;
  return urls.map((url) => ({ name: nameOf(url), url }));
}

function wrongAbout(parts: readonly string[], query: URLSearchParams, wanted?: 'standby'): string | undefined {
  const target = query.get('target_session_attrs');
  if (wanted === 'standby' && target !== null && !STANDBYS.has(target)) {
    return 'must not set target_session_attrs to anything but standby: it is read only from a standby';
  }
  if (wanted === undefined && target !== null && !TARGETS.has(target)) {
    return 'must not set target_session_attrs to anything but read-write: a host that accepts no writes is of no use';
  }
  if (query.getAll('host').some((each) => each.includes(',')) || (parts.length > 1 && query.has('host'))) {
    return 'must list several hosts before its path: postgres://user:password@h1:5432,h2:5432/database';
  }
  if (parts.length === 1) return undefined;
  if (parts.length > HOSTS_MAX) return `must name at most ${HOSTS_MAX.toString()} hosts`;
  const places = new Set(parts.map((part) => (/:\d+$/.test(part) ? part : `${part}:5432`).toLowerCase()));
  return places.size === parts.length ? undefined : 'must name each host once';
}

function nameOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return `${host}:${searchParams.get('port') ?? (port === '' ? '5432' : port)}`;
}
