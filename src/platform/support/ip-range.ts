/** IP addresses and ranges in settings and project options. */
import { isIP } from 'node:net';

export interface IpRange {
  readonly address: string;
  /** The number of leading bits that all addresses of the range share. */
  readonly length: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Parses an address or a range in CIDR form; undefined for any other text. */
export function parseIpRange(text: string): IpRange | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  const bits = version === 6 ? 128 : 32;
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  if (version === 0 || rest.length > 0 || length < 0 || length > bits) return undefined;
  return { address, length, family: version === 6 ? 'ipv6' : 'ipv4' };
}
