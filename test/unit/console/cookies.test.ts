// The cookies of a console: their attributes, and the values that count.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { deviceCookie, giveCookies, sessionCookie, takeCookie } from '../../../src/modules/console/cookies.js';
import type { SignedIn } from '../../../src/modules/people/sign-in.js';

const HTTPS = { audience: 'merchant', isSecure: true } as const;
const LOCAL = { audience: 'operator', isSecure: false } as const;
const SIGNED_IN: SignedIn = { token: 'a-token', deviceCookie: 'a-device' };

function linesOf(set: (response: ServerResponse) => void): unknown {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  set(response);
  return response.getHeader('set-cookie');
}

it('the session’s cookie ends with the browser, and the device’s after a year', () => {
  expect(linesOf((response) => giveCookies(response, HTTPS, SIGNED_IN))).toEqual([
    '__Host-merchant-session=a-token; Path=/; HttpOnly; SameSite=Strict; Secure',
    '__Host-merchant-device=a-device; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=31536000',
  ]);
});

it('a new token without a sign-in leaves the device’s cookie', () => {
  const lines = linesOf((response) => giveCookies(response, LOCAL, { token: 'a-token' }));
  expect(lines).toBe('operator-session=a-token; Path=/; HttpOnly; SameSite=Strict');
});

it('the session’s cookie is removed immediately, by its own name and attributes', () => {
  expect(linesOf((response) => takeCookie(response, HTTPS))).toBe(
    '__Host-merchant-session=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0',
  );
});

it('a value counts once, in full, under its exact name, and within its length', () => {
  const found = (cookie: string | undefined) => {
    const request = new IncomingMessage(new Socket());
    request.headers = cookie === undefined ? {} : { cookie };
    return [sessionCookie(request, LOCAL), deviceCookie(request, LOCAL)];
  };
  const none = [undefined, undefined];
  expect(found('operator-session=a; operator-device=b.c_d-e')).toEqual(['a', 'b.c_d-e']);
  expect(found(undefined)).toEqual(none);
  expect(found('operator-session=')).toEqual(none);
  expect(found('operator-session=a;operator-session=b')).toEqual(none);
  expect(found('__Host-operator-session=a; merchant-session=b; xoperator-session=c')).toEqual(none);
  expect(found('operator-session=a"b')).toEqual(none);
  expect(found(`operator-session=${'a'.repeat(200)}`)).toEqual(['a'.repeat(200), undefined]);
  expect(found(`operator-session=${'a'.repeat(201)}`)).toEqual(none);
});
