/** The two cookies of a console: the session's token, and a device token for browsers that have signed in before. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleConfig } from '../../platform/config/console-config.js';
import type { SignedIn } from '../people/sign-in.js';

const DEVICE_LIFE_SEC = 365 * 24 * 3600;
const VALUE = /^[A-Za-z0-9._-]{1,200}$/;

type Terms = Pick<ConsoleConfig, 'audience' | 'isSecure'>;

/**
 * The prefix `__Host-` requires https. Without https the console is on this machine, where both audiences share a host.
 */
const nameOf = ({ audience, isSecure }: Terms, what: 'session' | 'device'): string =>
  `${isSecure ? '__Host-' : ''}${audience}-${what}`;

/** A cookie that was sent twice counts as absent, because either value could be forged. */
function cookieOf(request: IncomingMessage, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  const [value = ''] = values;
  return values.length === 1 && VALUE.test(value) ? value : undefined;
}

export const sessionCookie = (request: IncomingMessage, terms: Terms): string | undefined =>
  cookieOf(request, nameOf(terms, 'session'));
export const deviceCookie = (request: IncomingMessage, terms: Terms): string | undefined =>
  cookieOf(request, nameOf(terms, 'device'));

function lineOf(terms: Terms, what: 'session' | 'device', value: string, more: string): string {
  const secure = terms.isSecure ? '; Secure' : '';
  return `${nameOf(terms, what)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${more}`;
}

/** Sets the session cookie, and after a sign-in also the device cookie. The session cookie ends with the browser. */
export function giveCookies(response: ServerResponse, terms: Terms, { token, deviceCookie: device }: SignedIn): void {
  response.appendHeader('Set-Cookie', lineOf(terms, 'session', token, ''));
  if (device === undefined) return;
  response.appendHeader('Set-Cookie', lineOf(terms, 'device', device, `; Max-Age=${DEVICE_LIFE_SEC.toString()}`));
}

/** Removes the session cookie; the device cookie remains. */
export function takeCookie(response: ServerResponse, terms: Terms): void {
  response.appendHeader('Set-Cookie', lineOf(terms, 'session', '', '; Max-Age=0'));
}
