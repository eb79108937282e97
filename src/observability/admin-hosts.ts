/**
 * Which Host the admin port answers. A page of an attacker's site can point its own name at this address (DNS rebinding) and
 * read figures through the browser of who works here; its name is a public one, so those are refused.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** Names that no public DNS gives out (RFC 6761, 6762, 8375; ICANN's .internal), and those of a cluster. */
const PRIVATE_NAME = /\.(?:internal|local|localhost|home\.arpa|lan|svc|svc\.cluster\.local|test)$/;

/** Returns whether a request with this Host header is answered by the admin port that listens on `adminHost`. */
export function isAdminHost(header: string | undefined, adminHost: string): boolean {
  // Only programs leave it out.
  if (header === undefined) return true;
  if (!URL.canParse(`http://${header}`)) return false;
  const name = new URL(`http://${header}`).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(name) !== 0 || !name.includes('.') || PRIVATE_NAME.test(name)) return true;
  return name === adminHost.toLowerCase() || name === hostname().toLowerCase();
}
