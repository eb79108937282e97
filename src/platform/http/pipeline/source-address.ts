/** Determines the source of a request: the peer of the connection, or the address that trusted proxies report. */
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { parseIpRange } from '../../support/ip-range.js';

const MAPPED_IPV4 = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i;

function plain(address: string): string {
  return MAPPED_IPV4.exec(address)?.[1] ?? address;
}

/** Returns the peer address of the connection; empty once the connection is gone. */
export function peerOf(socket: Pick<Socket, 'remoteAddress'>): string {
  return plain(socket.remoteAddress ?? '');
}

/**
 * Returns the network that counts as one source: an IPv4 address itself, or the first `bits` of an IPv6 address. One
 * host may hold a whole /64; one customer of a provider often holds a /56 or a /48.
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

  /** Throws RangeError with the entry that is neither an address nor a range. */
  constructor(entries: readonly string[]) {
    this.isEmpty = entries.length === 0;
    for (const entry of entries) {
      const range = parseIpRange(entry.trim());
      if (range === undefined) throw new RangeError(`${entry} is neither an IP address nor a CIDR range`);
      this.list.addSubnet(range.address, range.length, range.family);
    }
  }

  has(address: string): boolean {
    // Most lists are empty, and even then a BlockList check costs a microsecond per request.
    if (this.isEmpty) return false;
    const version = isIP(address);
    return version !== 0 && this.list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  }
}

/**
 * Returns the source address of a request. Each trusted proxy appends the peer it saw to X-Forwarded-For, so the list
 * is read from its end while the hops are trusted. Entries that an untrusted caller wrote before them are ignored.
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
