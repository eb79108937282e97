/**
 * Decides where webhooks may be sent (docs/interface.md §27). The URL is judged when it is stored and before each
 * attempt, and so is every address that its name resolves to. A refusal gives no reason, so that callers cannot map a
 * network with it.
 */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../platform/config/config.js';
import { reasonOf, StartError } from '../../domain/errors.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** Metadata services of clouds and link-local addresses: denied even if an operator allows them. */
const NEVER = [
  ...['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128', 'fd20:ce::254/128', '100.100.100.200/32'],
  ...['192.0.0.192/32', '168.63.129.16/32'],
];
const COMPATIBLE_IPV4 = /^::\d+\.\d+\.\d+\.\d+$/;
const GLOBAL_IPV6 = rangeOf('2000::/3');
const NAME = /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9-]{2,63}$/;
const LOCAL_NAME = /(?:^|\.)(?:local|internal|localhost|localdomain|lan|home|corp|intranet|private|onion)$/;

/** The target of a request; its addresses are checked separately. */
export interface Destination {
  readonly isTls: boolean;
  /** Without a trailing dot; an IP address if `isLiteral`. */
  readonly host: string;
  readonly isLiteral: boolean;
  readonly port: number;
  /** Path with query. */
  readonly path: string;
}

export class AddressRules {
  private readonly allowed: readonly Range[];
  private readonly denied: readonly Range[];
  /** Addresses of this machine, in their shortest form. */
  private readonly own: ReadonlySet<string>;

  /** Throws StartError if the process has no permission to list the addresses of its machine. */
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

  /** Returns the target of the URL, or undefined if webhooks must not use it. Makes no DNS query. */
  destinationOf(text: string): Destination | undefined {
    // The parser drops line breaks and tabs, and trims: the stored text would differ from the requested URL.
    if (/[\s\p{C}]/u.test(text) || !URL.canParse(text)) return undefined;
    // The parser writes every form of an IPv4 address as four numbers, including decimal and octal ones.
    const url = new URL(text);
    const isTls = url.protocol === 'https:';
    if (!isTls && !(this.rules.allowHttp && url.protocol === 'http:')) return undefined;
    if (url.username !== '' || url.password !== '' || text.includes('#')) return undefined;
    const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
    if (!this.rules.ports.includes(port)) return undefined;
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
    const path = `${url.pathname}${url.search}`;
    if (isIP(host) !== 0) {
      // Literals are only for the operator's own hosts: a public host has a name.
      return this.isOneOf(this.allowed, host) && this.mayConnect(host)
        ? { isTls, host, isLiteral: true, port, path }
        : undefined;
    }
    if (!NAME.test(host) || LOCAL_NAME.test(host)) return undefined;
    return { isTls, host, isLiteral: false, port, path };
  }

  /** Returns true if a connection may be made to this address, in any of its forms. */
  mayConnect(address: string): boolean {
    // The library wrongly reads `::1.2.3.4` as an IPv4 address.
    if (isIP(address) === 0 || COMPATIBLE_IPV4.test(address)) return false;
    // Treats an IPv4-mapped IPv6 address as IPv4.
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
      `Failed to list the addresses of this machine (${reasonOf(error)}), so webhooks could reach it. ` +
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
