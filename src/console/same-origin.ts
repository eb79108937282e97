/**
 * Who may ask at all: a page of this console. The host must be its own, whatever name led to this address, and what
 * changes something, or asks for data, must come from its own origin. There is no CORS: another origin gets no answer to read.
 */
import type { IncomingMessage } from 'node:http';
import { ConsoleError } from '../domain/console-error.js';
import { headerValues } from '../http/pipeline/headers.js';

const refusal = (): ConsoleError =>
  new ConsoleError('WRONG_ORIGIN', 'This console answers its own pages alone, under the address it was set up with.');

/** Throws 403 WRONG_ORIGIN. `origin`: of the console, as browsers write it. */
export function requireOwnHost(request: IncomingMessage, origin: string): void {
  const hosts = headerValues(request.rawHeaders, 'host');
  if (hosts.length !== 1 || hosts[0]?.toLowerCase() !== new URL(origin).host) throw refusal();
}

/** Throws 403 WRONG_ORIGIN for a request that another site's page made, or that does not say which made it. */
export function requireSameOrigin(request: IncomingMessage, origin: string): void {
  const origins = headerValues(request.rawHeaders, 'origin');
  const sites = headerValues(request.rawHeaders, 'sec-fetch-site');
  const isReading = request.method === 'GET';
  // Browsers send no Origin with a GET to their own; with everything else they do.
  if (origins.length > 1 || (origins.length === 0 ? !isReading : origins[0] !== origin)) throw refusal();
  // `none`: the address bar. A cross-site GET cannot read the answer, and is refused all the same.
  if (sites.some((site) => site !== 'same-origin' && !(site === 'none' && isReading))) throw refusal();
}
