/**
 * Decides which Host headers the admin port answers. An attacker's page can point its own name at this address (DNS
 * rebinding) and read figures through an operator's browser. Its name is a public one, so public names are refused.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** Names that no public DNS serves (RFC 6761, 6762, 8375; ICANN's .internal), and those of a cluster. */
const PRIVATE_NAME = /\.(?:internal|local|localhost|home\.arpa|lan|svc|svc\.cluster\.local|test)$/;

/** Returns true if the admin port that listens on `adminHost` answers a request with this Host header. */
export function isAdminHost(header: string | undefined, adminHost: string): boolean {
  // Only programs omit it.
  if (header === undefined) return true;
  if (!URL.canParse(`http://${header}`)) return false;
  const name = new URL(`http://${header}`).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(name) !== 0 || !name.includes('.') || PRIVATE_NAME.test(name)) return true;
  return name === adminHost.toLowerCase() || name === hostname().toLowerCase();
}
