// docker/compose.yaml: what each container is given of the secrets, and that the signer shares nothing but its socket.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { SECRET_SETTINGS } from '../../src/config/config.js';

type EnvFile = string | { readonly path: string; readonly required: boolean };
interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly EnvFile[];
  readonly group_add?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly network_mode?: string;
  readonly networks?: unknown;
  readonly user?: string;
  readonly volumes?: readonly string[];
}

const text = readFileSync(new URL('../../docker/compose.yaml', import.meta.url), 'utf8');
const { services } = parse(text, { merge: true }) as { services: Readonly<Record<string, Service>> };
const { api, worker, cli, signer, ...others } = services as Record<'api' | 'worker' | 'cli' | 'signer', Service>;

const volumeOf = (mount: string): string => mount.replace(/:[^:]*(?::ro)?$/, '');

test('API, worker and CLI take their own keys from files of their own, and no setting of compose hides them', () => {
  for (const [name, service] of Object.entries({ api, worker, cli })) {
    expect(service.env_file).toEqual(['.env', { path: `${name}.env`, required: false }]);
    const set = Object.keys(service.environment ?? {}).sort();
    expect(set.filter((each) => SECRET_SETTINGS.has(each))).toEqual(['DATABASE_URL', 'REDIS_URL']);
  }
});

test('the signer has a user of its own, no network, and none of the settings of others', () => {
  expect(signer.network_mode).toBe('none');
  expect(signer.networks).toBeUndefined();
  expect(signer.env_file).toBeUndefined();
  expect(Object.keys(signer.environment!).filter((name) => !name.startsWith('SIGNER_'))).toEqual([]);
  expect(signer.user).toMatch(/^\d+:\d+$/);
  const users = Object.values({ api, worker, cli, ...others }).map(({ user }) => user);
  expect(users).not.toContain(signer.user);
  expect(signer.healthcheck!.test).toEqual(['CMD', 'node', 'docker/probe.mjs', '--signer']);
});

test('worker and CLI share the folder of its socket with it, by its group, and nothing else of anybody', () => {
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
