/**
 * The URL of a Postgres that may stand on several hosts, as libpq takes it:
 * `postgres://user:password@h1:5432,h2:5433/database?sslmode=verify-full`. Everything but host and port is the same for all.
 */

/** More is a mistake: each of them is asked whenever one is lost. */
const HOSTS_MAX = 9;
/** What libpq calls a server that takes writes; any other kind is not what this service could use. */
const TARGETS: ReadonlySet<string> = new Set(['read-write', 'primary']);
/** The same of one that is only read. */
const STANDBYS: ReadonlySet<string> = new Set(['standby', 'prefer-standby', 'read-only', 'any']);

export interface PostgresHost {
  /** As the operator named it: `h1:5432`. Never holds a user or a password. */
  readonly name: string;
  /** Of this host alone, which any client takes. */
  readonly url: string;
}

/** The hosts of a URL in its order, or what is wrong with it, as a sentence's end. Shows nothing of the URL. */
export function postgresHosts(text: string, wanted?: 'standby'): readonly PostgresHost[] | string {
  const match = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(text);
  if (match === null) return 'must hold URLs starting with postgres: or postgresql:';
  const [, scheme = '', authority = '', rest = ''] = match;
  const at = authority.lastIndexOf('@') + 1;
  const parts = authority.slice(at).split(',');
  if (parts.length > 1 && parts.includes('')) return 'must name a host between any two commas';
  const urls = parts.map((part) => `${scheme}${authority.slice(0, at)}${part}${rest}`);
  if (!urls.every((url) => URL.canParse(url))) return 'must hold URLs starting with postgres: or postgresql:';
  const wrong = wrongAbout(parts, new URL(urls[0] ?? '').searchParams, wanted);
  if (wrong !== undefined) return wrong;
  return urls.map((url) => ({ name: nameOf(url), url }));
}

function wrongAbout(parts: readonly string[], query: URLSearchParams, wanted?: 'standby'): string | undefined {
  const target = query.get('target_session_attrs');
  if (wanted === 'standby' && target !== null && !STANDBYS.has(target)) {
    return 'must leave target_session_attrs out, or say standby: it is read from a standby alone';
  }
  if (wanted === undefined && target !== null && !TARGETS.has(target)) {
    return 'must leave target_session_attrs out, or say read-write: a host that takes no writes is of no use';
  }
  if (query.getAll('host').some((each) => each.includes(',')) || (parts.length > 1 && query.has('host'))) {
    return 'must name several hosts before its path: postgres://user:password@h1:5432,h2:5432/database';
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
