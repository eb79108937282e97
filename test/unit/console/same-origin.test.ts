// Requests that count as those of the console's own pages, by the headers as they were sent.
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { requireOwnHost, requireSameOrigin } from '../../../src/modules/console/same-origin.js';

const ORIGIN = 'https://console.example.com';

function isAccepted(
  require: typeof requireSameOrigin,
  method: 'GET' | 'POST',
  ...headers: (readonly [name: string, value: string])[]
): boolean {
  const request = new IncomingMessage(new Socket());
  request.method = method;
  request.rawHeaders = headers.flat();
  try {
    require(request, ORIGIN);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'WRONG_ORIGIN' });
    return false;
  }
}

const own = ['Origin', ORIGIN] as const;
const site = (value: string) => ['Sec-Fetch-Site', value] as const;

it('a change needs the console’s origin, once, and comes from a page of it', () => {
  const changes = (...headers: (readonly [string, string])[]) => isAccepted(requireSameOrigin, 'POST', ...headers);
  expect([changes(own), changes(own, site('same-origin'))]).toEqual([true, true]);
  expect([changes(), changes(site('same-origin'))]).toEqual([false, false]);
  expect([changes(own, own), changes(own, ['origin', 'https://evil.example'])]).toEqual([false, false]);
  for (const from of ['none', 'same-site', 'cross-site'])
    expect([from, changes(own, site(from))]).toEqual([from, false]);
  expect(changes(own, site('same-origin'), site('cross-site'))).toBe(false);
});

it('a read needs no origin, and may come from the address bar', () => {
  const reads = (...headers: (readonly [string, string])[]) => isAccepted(requireSameOrigin, 'GET', ...headers);
  expect([reads(), reads(own), reads(site('none')), reads(site('same-origin'))]).toEqual([true, true, true, true]);
  expect([reads(['Origin', 'https://evil.example']), reads(own, own)]).toEqual([false, false]);
  for (const from of ['same-site', 'cross-site']) expect([from, reads(site(from))]).toEqual([from, false]);
});

it('the host is the console’s, once, in any case', () => {
  const accepts = (...hosts: string[]) =>
    isAccepted(requireOwnHost, 'GET', ...hosts.map((host) => ['Host', host] as const));
  expect([accepts('console.example.com'), accepts('Console.Example.COM')]).toEqual([true, true]);
  expect([accepts(), accepts('evil.example'), accepts('console.example.com:8443')]).toEqual([false, false, false]);
  expect(accepts('console.example.com', 'console.example.com')).toBe(false);
});
