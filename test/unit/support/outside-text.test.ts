// Untrusted text in places where a terminal, a shell, a log or a page could interpret it.
import { execFileSync } from 'node:child_process';
import { curlOfRequest } from '../../../src/modules/console/signed-snippets.js';
import { EMAIL_ADDRESS } from '../../../src/domain/email-address.js';
import { ApiError } from '../../../src/domain/errors.js';
import { forTerminal, jsonForTerminal, nameFault } from '../../../src/domain/printable.js';
import { logCause } from '../../../src/platform/http/pipeline/error.filter.js';
import { isAdminHost } from '../../../src/platform/observability/admin-hosts.js';
import { projectNameOf } from '../../../src/modules/projects/project-name.js';
import { openLog } from '../../support/log.js';

describe('a name', () => {
  it.each([
    'a\u001b]0;x\u0007',
    'bell\u0007',
    'evil\u202egpj.exe',
    'a\u2066b',
    'two\nlines',
    'x\u0085',
    '\u009b31m',
    'a\ufeffb',
  ])('rejects %j with a reason', (name) => {
    expect(nameFault(name)).toMatch(/control characters/);
    expect(projectNameOf(`shop ${name} end`)).toBeUndefined();
  });

  it.each(['Żabka & Söhne', '店 一号', 'می‌خواهم', '👩‍👩‍👧 toys', "O'Neil; =1", 'שלום'])('accepts %j', (name) => {
    expect([nameFault(name), projectNameOf(name)]).toEqual([undefined, name]);
  });

  it('contains none of these characters in an e-mail', () => {
    expect(
      ['a@b.example', 'a\u202eb@c.example', 'a\u0007@c.example'].map((email) => EMAIL_ADDRESS.test(email)),
    ).toEqual([...[true, false, false]]);
  });
});

it('a terminal gets nothing that moves its cursor, and JSON stays the same document', () => {
  const name = 'a\u001b[2J\u202eb\u009bc';
  expect(forTerminal(`one ${name}\ntwo`)).toBe('one a\ufffd[2J\ufffdb\ufffdc\ntwo');
  const json = jsonForTerminal(JSON.stringify({ name }, undefined, 2));
  expect(json).toMatch(/^[\n\x20-\x7e]*$/);
  expect(JSON.parse(json)).toEqual({ name });
});

it('an order’s key is one shell word, whatever it contains', () => {
  for (const key of ["it's (a) key", "x'; touch /tmp/never; '", '$(id)', 'plain-key', 'a!b*c']) {
    const path = `/v1/orders/${encodeURIComponent(key)}/extensions`;
    const script = curlOfRequest({ path, body: { note: "it's" }, isOrder: true });
    // The real commands, except that curl is replaced by a function that prints its arguments.
    const said = execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${script}`], {
      env: { PATH: process.env['PATH'] ?? '', BASE_URL: 'https://api.example', MERCHANT: 'm', API_KEY: 'k' },
      encoding: 'utf8',
    });
    expect(said.split('\n')[0]).toBe(`https://api.example${path}`);
  }
});

it('logs a refusal under a flood as one short line, and a fault of ours with its stack', () => {
  const lines: string[] = [];
  const log = openLog('warn', (line) => lines.push(line));
  logCause(log, 'req_1', 'SERVICE_UNAVAILABLE', new ApiError('SERVICE_UNAVAILABLE', 'no connection within 2 s.'));
  logCause(log, 'req_2', 'INTERNAL_ERROR', new Error('a bug'));
  expect(lines[0]).not.toContain('"stack"');
  expect(JSON.parse(lines[0]!)).toMatchObject({ code: 'SERVICE_UNAVAILABLE', fault: 'no connection within 2 s' });
  expect(lines[1]).toContain('stack');
});

describe('the admin port', () => {
  it.each([
    '127.0.0.1:9100',
    'localhost:9100',
    '[::1]:9100',
    '10.0.0.7',
    'api:9100',
    'api.energy.svc.cluster.local:9100',
  ])('answers to %s', (host) => expect(isAdminHost(host, '0.0.0.0')).toBe(true));

  it.each(['evil.example:9100', 'rebind.attacker.com', '127.0.0.1.nip.io:9100', 'not a host', 'a@b.com'])(
    'does not answer to %s',
    (host) => expect(isAdminHost(host, '127.0.0.1')).toBe(false),
  );

  it('answers to its own name, and to a program that names no host', () => {
    expect([isAdminHost('metrics.example.com', 'metrics.example.com'), isAdminHost(undefined, '127.0.0.1')]).toEqual([
      ...[true, true],
    ]);
  });
});
