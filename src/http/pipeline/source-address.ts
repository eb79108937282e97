/** Where a request comes from: the peer of the connection, or what trusted proxies say stands behind them. */
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { parseIpRange } from '../../base/ip-range.js';

const MAPPED_IPV4 = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i;

function plain(address: string): string {
  return MAPPED_IPV4.exec(address)?.[1] ?? address;
}

/** The address at the other end of the connection; empty once that is gone. */
export function peerOf(socket: Pick<Socket, 'remoteAddress'>): string {
  return plain(socket.remoteAddress ?? '');
}

/**
 * Returns the network that counts as one source: an IPv4 address itself, of IPv6 the first `bits`. One host may hold a
 * whole /64; one customer of a provider often holds a /56 or a /48.
 */
export function networkOf(address: string, bits: 48 | 56 | 64 = 64): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros: string[] = tail === undefined ? [] : new Array<string>(8 - left.length - right.length).fill('0');
  const groups = [...left, ...zeros, ...right];
  if (bits === 56) return [...groups.slice(0, 3), (groups[3] ?? '0').padStart(4, '0').slice(0, 2)].join(':');
  return groups.slice(0, bits / 16).join(':');
}

/** A set of addresses and CIDR ranges. */
export class AddressList {
  private readonly list = new BlockList();
  private readonly isEmpty: boolean;

  /** Throws RangeError naming the entry that is neither an address nor a range. */
  constructor(entries: readonly string[]) {
    this.isEmpty = entries.length === 0;
    for (const entry of entries) {
      const range = parseIpRange(entry.trim());
      if (range === undefined) throw new RangeError(`${entry} is neither an IP address nor a CIDR range`);
      this.list.addSubnet(range.address, range.length, range.family);
    }
  }

  has(address: string): boolean {
    // Most lists are empty, and asking BlockList costs a microsecond of every request even then.
    if (this.isEmpty) return false;
    const version = isIP(address);
    return version !== 0 && this.list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  }
}

/**
 * The address a request came from. Each trusted proxy appends the peer it saw to X-Forwarded-For, so the list is read
 * from its end as long as the hops are trusted; what an untrusted caller wrote before that is never believed.
 */
export function sourceAddressOf(request: IncomingMessage, trusted: AddressList): string {
  let address = peerOf(request.socket);
  if (!trusted.has(address)) return address;
  const forwarded = request.headers['x-forwarded-for'];
  const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
  for (const hop of hops.reverse()) {
    const candidate = plain(hop.trim());
    if (isIP(candidate) === 0) return address;
    address = candidate;
    if (!trusted.has(address)) return address;
  }
  return address;
}
