/**
 * Where webhooks may go (docs/interface.md §27): judged of the URL when it is taken and again before each attempt, and of
 * every address that its name leads to. A refusal gives no reason, so that nobody maps a network by asking.
 */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config/config.js';
import { reasonOf, StartError } from '../domain/errors.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** Where machines in clouds read their secrets, and what is local to a link: never, whatever an operator allows. */
const NEVER = [
  ...['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128', 'fd20:ce::254/128', '100.100.100.200/32'],
  ...['192.0.0.192/32', '168.63.129.16/32'],
];
const COMPATIBLE_IPV4 = /^::\d+\.\d+\.\d+\.\d+$/;
const GLOBAL_IPV6 = rangeOf('2000::/3');
const NAME = /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9-]{2,63}$/;
const LOCAL_NAME = /(?:^|\.)(?:local|internal|localhost|localdomain|lan|home|corp|intranet|private|onion)$/;

/** A place that a request may be sent to, once its addresses are known. */
export interface Destination {
  readonly isTls: boolean;
  /** Without a trailing dot; an address where `isLiteral`. */
  readonly host: string;
  readonly isLiteral: boolean;
  readonly port: number;
  /** With its query. */
  readonly path: string;
}

export class AddressRules {
  private readonly allowed: readonly Range[];
  private readonly denied: readonly Range[];
  /** Of this machine, in their shortest form. */
  private readonly own: ReadonlySet<string>;

  /** Throws StartError where the process may not list the addresses of its machine. */
  constructor(
    private readonly rules: Config['webhooks'],
    interfaces: typeof networkInterfaces = networkInterfaces,
  ) {
    this.allowed = rules.allowNetworks.map(rangeOf);
    this.denied = [...NEVER, ...rules.denyNetworks].map(rangeOf);
    this.own = new Set(
      ownAddresses(interfaces).map((address) => ipaddr.process(address.split('%')[0] ?? '').toString()),
    );
  }

  /** Where the URL leads; undefined when webhooks may not name it. Asks nobody. */
  destinationOf(text: string): Destination | undefined {
    // The parser leaves out line breaks and tabs, and trims: what is kept would be another text than what is called.
    if (/[\s\p{C}]/u.test(text) || !URL.canParse(text)) return undefined;
    // Its parser writes every form of an IPv4 address, decimal and octal ones too, as four numbers.
    const url = new URL(text);
    const isTls = url.protocol === 'https:';
    if (!isTls && !(this.rules.allowHttp && url.protocol === 'http:')) return undefined;
    if (url.username !== '' || url.password !== '' || text.includes('#')) return undefined;
    const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
    if (!this.rules.ports.includes(port)) return undefined;
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
    const path = `${url.pathname}${url.search}`;
    if (isIP(host) !== 0) {
      // A literal is for hosts of one's own alone: whoever is public has a name.
      return this.isOneOf(this.allowed, host) && this.mayConnect(host)
        ? { isTls, host, isLiteral: true, port, path }
        : undefined;
    }
    if (!NAME.test(host) || LOCAL_NAME.test(host)) return undefined;
    return { isTls, host, isLiteral: false, port, path };
  }

  /** Whether a connection may be made to this address, in any of its forms. */
  mayConnect(address: string): boolean {
    // The library reads `::1.2.3.4`, which is no IPv4 address, as one.
    if (isIP(address) === 0 || COMPATIBLE_IPV4.test(address)) return false;
    // An IPv4 address that is written as IPv6 is that IPv4 address.
    const parsed = ipaddr.process(address);
    if (matches(this.denied, parsed)) return false;
    if (matches(this.allowed, parsed)) return true;
    if (this.own.has(parsed.toString())) return false;
    if (parsed.range() !== 'unicast') return false;
    return parsed.kind() === 'ipv4' || matches([GLOBAL_IPV6], parsed);
  }

  private isOneOf(ranges: readonly Range[], address: string): boolean {
    return !COMPATIBLE_IPV4.test(address) && matches(ranges, ipaddr.process(address));
  }
}

function ownAddresses(interfaces: typeof networkInterfaces): string[] {
  try {
    return Object.values(interfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
  } catch (error) {
    throw new StartError(
      'NETWORK_RESTRICTED',
      `The addresses of this machine cannot be listed (${reasonOf(error)}), so webhooks could reach it. ` +
        'Allow the process netlink sockets: AF_NETLINK in RestrictAddressFamilies of its systemd unit.',
      error,
    );
  }
}

function rangeOf(text: string): Range {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function matches(ranges: readonly Range[], address: Address): boolean {
  return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}
