// docker/compose.yaml: each container's secrets, and the signer's isolation except for its socket.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { SECRET_SETTINGS } from '../../../src/platform/config/config.js';
import { readConsoleConfig } from '../../../src/platform/config/console-config.js';

type EnvFile = string | { readonly path: string; readonly required: boolean };
interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly EnvFile[];
  readonly group_add?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly network_mode?: string;
  readonly networks?: unknown;
  readonly ports?: readonly string[];
  readonly user?: string;
  readonly volumes?: readonly string[];
}

const text = readFileSync(new URL('../../../docker/compose.yaml', import.meta.url), 'utf8');
const { services } = parse(text, { merge: true }) as { services: Readonly<Record<string, Service>> };
const { api, worker, cli, signer, ...others } = services as Record<'api' | 'worker' | 'cli' | 'signer', Service>;

const volumeOf = (mount: string): string => mount.replace(/:[^:]*(?::ro)?$/, '');

test('API, worker and CLI read keys from their own files, and no setting of compose overrides them', () => {
  for (const [name, service] of Object.entries({ api, worker, cli })) {
    expect(service.env_file).toEqual(['.env', { path: `${name}.env`, required: false }]);
    const set = Object.keys(service.environment ?? {}).sort();
    const withheld = name === 'worker' ? ['DEPOSIT_XPUB'] : [];
    expect(set.filter((each) => SECRET_SETTINGS.has(each))).toEqual(['DATABASE_URL', ...withheld, 'REDIS_URL']);
  }
});

test('the signer has its own user, no network, and no settings of others', () => {
  expect(signer.network_mode).toBe('none');
  expect(signer.networks).toBeUndefined();
  expect(signer.env_file).toBeUndefined();
  expect(Object.keys(signer.environment!).filter((name) => !name.startsWith('SIGNER_'))).toEqual([]);
  expect(signer.user).toMatch(/^\d+:\d+$/);
  const users = Object.values({ api, worker, cli, ...others }).map(({ user }) => user);
  expect(users).not.toContain(signer.user);
  expect(signer.healthcheck!.test).toEqual(['CMD', 'node', 'docker/probe.mjs', '--signer']);
});

test('worker and CLI share only the folder of the signer’s socket, by its group', () => {
  const own = signer.volumes!.map(volumeOf);
  const gid = signer.user!.split(':')[1];
  for (const service of [worker, cli]) {
    expect(service.group_add).toEqual([gid]);
    expect(service.volumes).toEqual(['signer-socket:/run/signer:ro']);
  }
  for (const service of Object.values({ api, ...others })) {
    expect((service.volumes ?? []).map(volumeOf).filter((volume) => own.includes(volume))).toEqual([]);
    expect(service.group_add).toBeUndefined();
  }
  expect(signer.environment!['SIGNER_SOCKET']).toMatch(/^\/run\/signer\//);
  expect(signer.environment!['SIGNER_SOCKET_MODE']).toBe('0660');
});

const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
const logins = [...example.matchAll(/^#? ?(DATABASE_PASSWORD_[A-Z_]+)=/gm)].map(([, name = '']) => name);

test('`migrate` gets the password of each login, and other readers of the same file do not', () => {
  expect(logins.length).toBeGreaterThan(5);
  const { migrate, ...rest } = services;
  for (const [name, { env_file: files = [], environment = {} }] of Object.entries(rest)) {
    if (!files.includes('.env')) continue;
    const seen = logins.filter((login) => environment[login] !== '');
    expect([name, seen]).toEqual([name, []]);
  }
  expect(logins.filter((login) => !migrate?.environment?.[login]?.startsWith(`\${${login}:`))).toEqual([]);
});

/** Returns true when the source file imports this module, directly or indirectly. */
function isMadeOf(file: string, module: string, seen = new Set<string>()): boolean {
  if (file === module || seen.has(file)) return file === module;
  seen.add(file);
  const source = readFileSync(new URL(`../../../src/${file}`, import.meta.url), 'utf8');
  const imports = source.matchAll(/^(?:im|ex)port (?!type )[^;]*?from '(\.[^']+)\.js'|import\('(\.[^']+)\.js'\)/gm);
  return [...imports].some(([, named, later = '']) => {
    const { pathname } = new URL(`${named ?? later}.ts`, `file:///${file}`);
    return isMadeOf(pathname.slice(1), module, seen);
  });
}

test('only processes that derive deposit addresses get their key from docker/.env', () => {
  const programs = ['api', 'worker', 'sender', 'signer', 'cli', 'console-merchant', 'console-operator'];
  const deriving = programs.filter((name) => {
    const app = name.replace(/-.*/, '');
    return isMadeOf(`apps/${app}/main.${app}.ts`, 'modules/deposits/deposit-addresses.ts');
  });
  expect(deriving).toEqual(['api', 'cli', 'console-merchant', 'console-operator']);
  const given = programs.filter((name) => {
    const { env_file: files = [], environment = {} } = services[name]!;
    const { DEPOSIT_XPUB: own } = environment;
    return own === undefined ? files.includes('.env') : own === '${DEPOSIT_XPUB:-}';
  });
  expect(given).toEqual(deriving);
});

test('a console gets every setting that it requires at its start', () => {
  const file = {
    SEAL_KEY_SECOND_FACTORS: Buffer.alloc(32, 7).toString('base64'),
    CONSOLE_MERCHANT_URL: 'https://console.example.com',
    CONSOLE_OPERATOR_URL: 'https://operators.example.com',
    TOKEN_CONTRACT: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  };
  const filled = (value: string): string =>
    value.replace(/\$\{([A-Z_]+):[-?][^}]*\}/g, (_, name: string) => (file as Record<string, string>)[name] ?? '');
  for (const name of ['console-merchant', 'console-operator']) {
    const given = Object.entries(services[name]?.environment ?? {}).map(
      ([key, value]) => [key, filled(value)] as const,
    );
    const { SEAL_KEY_SECOND_FACTORS } = file;
    expect(readConsoleConfig({ ...Object.fromEntries(given), SEAL_KEY_SECOND_FACTORS }).url).toMatch(/^https:/);
  }
});

test('the backup has no key that opens the content of a dump', () => {
  const { backup } = services;
  expect(backup?.env_file).toBeUndefined();
  expect(Object.keys(backup?.environment ?? {}).filter((name) => SECRET_SETTINGS.has(name))).toEqual(['DATABASE_URL']);
});

test('every service that keeps running has a health check', () => {
  const once = ['migrate', 'cli'];
  const without = Object.keys(services).filter((name) => services[name]?.healthcheck?.test === undefined);
  expect(without).toEqual(once);
});

test('no two services publish the same port', () => {
  const published = Object.values(services).flatMap(({ ports = [] }) =>
    ports.flatMap((port) => {
      const [, first = '', last = first] = /^(?:[\d.]+:)?(\d+)(?:-(\d+))?:\d/.exec(port) ?? [];
      return Array.from({ length: Number(last) - Number(first) + 1 }, (_, n) => Number(first) + n);
    }),
  );
  expect(published.length).toBeGreaterThan(10);
  expect(new Set(published).size).toBe(published.length);
});

test('the proxy waits longer than the longest answer, and less than the API keeps a connection', () => {
  const caddy = readFileSync(new URL('../../../docker/Caddyfile', import.meta.url), 'utf8');
  const seconds = (name: string): number => Number(new RegExp(`${name} (\\d+)s`).exec(caddy)?.[1]);
  const setting = (name: string): number => Number(new RegExp(`^# ${name}=(\\d+)$`, 'm').exec(example)?.[1]);
  expect(seconds('response_header_timeout')).toBeGreaterThan(setting('RENT_HOLD_SEC'));
  expect(seconds('keepalive')).toBeLessThan(setting('KEEP_ALIVE_SEC'));
});
