/**
 * Accepts only requests of the console's own pages. The host must be the console's, regardless of the name that led to
 * this address. Requests for changes or data must have its origin. There is no CORS: another origin cannot read an
 * answer.
 */
import type { IncomingMessage } from 'node:http';
import { ConsoleError } from '../../domain/console-error.js';
import { headerValues } from '../../platform/http/pipeline/headers.js';

const refusal = (): ConsoleError =>
  new ConsoleError('WRONG_ORIGIN', 'The request comes from another site. Open the console at its configured URL.');

/** Throws 403 WRONG_ORIGIN. `origin` is the console's, in the browsers' form. */
export function requireOwnHost(request: IncomingMessage, origin: string): void {
  const hosts = headerValues(request.rawHeaders, 'host');
  if (hosts.length !== 1 || hosts[0]?.toLowerCase() !== new URL(origin).host) throw refusal();
}

/** Throws 403 WRONG_ORIGIN for a request of another site's page, or of unknown origin. */
export function requireSameOrigin(request: IncomingMessage, origin: string): void {
  const origins = headerValues(request.rawHeaders, 'origin');
  const sites = headerValues(request.rawHeaders, 'sec-fetch-site');
  const isReading = request.method === 'GET';
  // Browsers omit Origin for a GET to the same origin, and send it with all other requests.
  if (origins.length > 1 || (origins.length === 0 ? !isReading : origins[0] !== origin)) throw refusal();
  // `none` means the address bar. A cross-site GET could not read the answer, but is refused anyway.
  if (sites.some((site) => site !== 'same-origin' && !(site === 'none' && isReading))) throw refusal();
}
