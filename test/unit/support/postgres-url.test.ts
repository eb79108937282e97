// The database URL: one host or several, in libpq's syntax.
import { postgresHosts } from '../../../src/platform/support/postgres-url.js';

test.each([
  ['postgres://u:p@h1:5432,h2:5433/db', ['postgres://u:p@h1:5432/db', 'postgres://u:p@h2:5433/db']],
  ['postgresql://u:p@h1,h2/db', ['postgresql://u:p@h1/db', 'postgresql://u:p@h2/db']],
  ['postgres://h1,h2', ['postgres://h1', 'postgres://h2']],
  ['postgres://u:a,b@h1,h2/db', ['postgres://u:a,b@h1/db', 'postgres://u:a,b@h2/db']],
  ['postgres://u:a%40b%2Cc@h1,h2/db', ['postgres://u:a%40b%2Cc@h1/db', 'postgres://u:a%40b%2Cc@h2/db']],
  ['postgres://u@[::1]:5432,[::2]/db', ['postgres://u@[::1]:5432/db', 'postgres://u@[::2]/db']],
  ['postgres://u:p@one/db', ['postgres://u:p@one/db']],
  ['postgres:///db?host=/run/postgresql', ['postgres:///db?host=/run/postgresql']],
])('%s leads to each of its hosts, with the rest of the URL', (url, urls) => {
  const hosts = postgresHosts(url);
  expect(typeof hosts === 'string' ? hosts : hosts.map((host) => host.url)).toEqual(urls);
});

test('a URL’s settings of TLS and session apply to each of its hosts', () => {
  const query = '?sslmode=verify-full&sslrootcert=/etc/ca.pem&target_session_attrs=read-write';
  expect(postgresHosts(`postgres://u:p@h1,h2:5433/db${query}`)).toEqual([
    { name: 'h1:5432', url: `postgres://u:p@h1/db${query}` },
    { name: 'h2:5433', url: `postgres://u:p@h2:5433/db${query}` },
  ]);
});

test('the name of a host contains neither user nor password', () => {
  expect(postgresHosts('postgres://u:secret@h1:5432,[::1]:7/db')).toMatchObject([
    { name: 'h1:5432' },
    { name: '[::1]:7' },
  ]);
  expect(postgresHosts('postgres:///db?host=/run/postgresql')).toMatchObject([{ name: '/run/postgresql:5432' }]);
});

test.each([
  ['mysql://u@h1/db', 'must be URLs starting with postgres: or postgresql:'],
  ['postgres://h1:port/db', 'must be URLs starting with postgres: or postgresql:'],
  ['postgres://u:secret@h1:5432,h2:port/db', 'must be URLs starting with postgres: or postgresql:'],
  ['postgres://u:secret@h1,,h2/db', 'must not have an empty host between commas'],
  ['postgres://u:secret@h1,h2,/db', 'must not have an empty host between commas'],
  ['postgres://u:secret@h1,h2:5432,h1:5432/db', 'must name each host once'],
  ['postgres://u:secret@h1,H1/db', 'must name each host once'],
  [
    `postgres://u:secret@${Array.from({ length: 10 }, (_, n) => `h${n.toString()}`).join(',')}/db`,
    'must name at most 9',
  ],
  ['postgres:///db?host=h1,h2&password=secret', 'must list several hosts before its path'],
  ['postgres://u:secret@h1,h2/db?target_session_attrs=standby', 'must not set target_session_attrs'],
])('rejects %s with the expected form and none of its content', (url, says) => {
  expect(postgresHosts(url)).toContain(says);
  expect(postgresHosts(url)).not.toContain('secret');
});
