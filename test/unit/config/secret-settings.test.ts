// Secret settings as values or files, and the derived keys that single processes take instead of MASTER_KEY.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  deriveSettings,
  PURPOSES_OF,
  readConfig,
  SECRET_SETTINGS,
  type Role,
} from '../../../src/platform/config/config.js';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { isOpenToOthers } from '../../../src/platform/support/secret-file.js';
import { SEAL_PURPOSES } from '../../../src/platform/support/seal.js';
import { settings } from '../../support/cli.js';

const MASTER_KEY = randomBytes(32).toString('base64');
const NEXT_KEY = randomBytes(32).toString('base64');
const ROLES: Role[] = ['api', 'worker', 'cli'];
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'secret-settings-'));
});

afterAll(() => {
  rmSync(dir, { recursive: true });
});

const base = (more: Record<string, string> = {}): Record<string, string> =>
  settings('postgres://127.0.0.1/x', { MASTER_KEY, ...more });

/** Returns the settings of `role` with derived keys instead of the master keys. */
function derived(role: Role, keys: Record<string, string> = { MASTER_KEY }): Record<string, string> {
  const lines = deriveSettings(keys, role).map(({ name, value }) => [name, value] as const);
  return base({ MASTER_KEY: '', ...Object.fromEntries(lines) });
}

const sealers = (env: Record<string, string>, role: Role): Sealers => new Sealers(readConfig(env, role).secrets);

function file(name: string, content: string, mode = 0o600): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

describe('a secret as a file', () => {
  // Read only by a console (mail.test.ts).
  const own = [...SECRET_SETTINGS].filter((name) => name !== 'SMTP_URL');

  it.each(own)('%s can come from one, without its trailing newline', (name) => {
    const isKey = /^(MASTER_KEY|SEAL_KEY_)/.test(name);
    const value = isKey ? NEXT_KEY : `${scheme(name)}://energy:secret@127.0.0.1/1`;
    // A process takes either derived keys or a master key.
    const env = name.startsWith('SEAL_KEY') ? { ...derived('cli'), SEAL_KEY_QUOTES: MASTER_KEY } : base();
    const plain = readConfig({ ...env, [name]: value });
    const filed = readConfig({ ...env, [name]: '', [`${name}_FILE`]: file(name, `${value}\n`) });
    expect(filed).toEqual(plain);
    expect(filed).not.toEqual(readConfig(env));
  });

  const scheme = (name: string): string => (name === 'REDIS_URL' ? 'redis' : 'postgres');

  it('is rejected beside its value, and neither is shown', () => {
    const path = file('both', NEXT_KEY);
    const error = faultOf(base({ MASTER_KEY_FILE: path }));
    expect(error).toContain('MASTER_KEY and MASTER_KEY_FILE are both set');
    expect(error).not.toContain(NEXT_KEY);
    expect(error).not.toContain(MASTER_KEY);
  });

  it.each([
    ['does not exist', () => join(dir, 'gone'), /DATABASE_URL_FILE: .*ENOENT/],
    ['others can read', () => file('read', 'postgres://x/y', 0o640), /DATABASE_URL_FILE: .* chmod 600 .*read/],
    ['others can write', () => file('write', 'postgres://x/y', 0o602), /DATABASE_URL_FILE: .* chmod 600 .*write/],
    ['is empty', () => file('empty', '\n'), /DATABASE_URL_FILE: .*empty is empty/],
    ['is a folder', () => dir, /DATABASE_URL_FILE: .* is not a regular file/],
    ['is far too large', () => file('large', 'x'.repeat(70_000)), /DATABASE_URL_FILE: .* is too large/],
    ['holds something else', () => file('else', 'sixteen'), /DATABASE_URL must be URLs/],
  ])('that %s is an error of its setting', (_what, path, says) => {
    expect(faultOf(base({ DATABASE_URL: '', DATABASE_URL_FILE: path() }))).toMatch(says);
  });

  it('behind a link is judged by the link’s target', () => {
    const link = join(dir, 'link');
    symlinkSync(file('behind', MASTER_KEY, 0o604), link);
    expect(faultOf(base({ MASTER_KEY: '', MASTER_KEY_FILE: link }))).toContain('is readable by others');
  });

  it('may be readable by others only where containers and systemd mount secrets, and never writable', () => {
    expect(isOpenToOthers('/run/secrets/master_key', 0o100444)).toBe(false);
    expect(isOpenToOthers('/run/credentials/energy-api.service/master_key', 0o100440)).toBe(false);
    expect(isOpenToOthers('/run/secrets/master_key', 0o100666)).toBe(true);
    expect(isOpenToOthers('/run/secrets-of-mine/master_key', 0o100444)).toBe(true);
    expect(isOpenToOthers('/etc/energy/master_key', 0o100440)).toBe(true);
    expect(isOpenToOthers('/etc/energy/master_key', 0o100400)).toBe(false);
  });

  function faultOf(env: Record<string, string>): string {
    try {
      readConfig(env);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error('the settings were taken');
  }
});

describe('the keys of one process', () => {
  it.each(ROLES)('those of the %s open exactly what it needs', (role) => {
    const [all, own] = [sealers(base(), 'cli'), sealers(derived(role), role)];
    expect([...own.held.keys()].sort()).toEqual([...PURPOSES_OF[role]].sort());
    for (const purpose of SEAL_PURPOSES) {
      const sealed = all.held.get(purpose)!.seal(Buffer.from('secret'), 'context');
      const opened = [...own.held.values()].flatMap((sealer) => sealer.open(sealed, 'context') ?? []);
      expect(opened.map(String)).toEqual(PURPOSES_OF[role].includes(purpose) ? ['secret'] : []);
    }
  });

  it('an API has no key of the pool, and a worker none of the projects', () => {
    expect(() => sealers(derived('api'), 'api').poolKey).toThrow('no key for the purpose pool-key');
    expect(() => sealers(derived('worker'), 'worker').apiKey).toThrow('no key for the purpose api-key');
    expect(() => sealers(derived('worker'), 'worker').quote).toThrow('no key for the purpose quote');
  });

  it.each(ROLES)('during a rotation the %s opens both and seals under the newer', (role) => {
    const before = sealers(derived(role), role);
    const meanwhile = sealers(derived(role, { MASTER_KEY: NEXT_KEY, MASTER_KEY_PREVIOUS: MASTER_KEY }), role);
    const after = sealers(derived(role, { MASTER_KEY: NEXT_KEY }), role);
    for (const purpose of PURPOSES_OF[role]) {
      const [old, both, alone] = [before, meanwhile, after].map(({ held }) => held.get(purpose)!);
      const sealed = old!.seal(Buffer.from('secret'), 'context');
      expect(both!.open(sealed, 'context')?.toString()).toBe('secret');
      expect([both!.isCurrent(sealed), alone!.open(sealed, 'context')]).toEqual([false, undefined]);
      const anew = both!.seal(Buffer.from('secret'), 'context');
      expect([both!.isCurrent(anew), alone!.open(anew, 'context')?.toString()]).toEqual([true, 'secret']);
    }
  });

  it('a process does not start with the keys of another one, and names its own', () => {
    expect(() => readConfig(derived('worker'), 'api')).toThrow(
      'MASTER_KEY is required, or instead SEAL_KEY_API_KEYS and SEAL_KEY_QUOTES and SEAL_KEY_WEBHOOKS (`cli secrets derive --for api`)',
    );
    expect(() => readConfig(derived('api'), 'worker')).toThrow('or instead SEAL_KEY_POOL_KEYS');
  });

  it('a worker needs none if its signer holds the keys', () => {
    expect(() => readConfig(base({ MASTER_KEY: '', SIGNER_SOCKET: '/run/signer.sock' }), 'worker')).not.toThrow();
    expect(() => readConfig(base({ MASTER_KEY: '' }), 'worker')).toThrow('MASTER_KEY is required');
  });

  it('rejects MASTER_KEY beside a key derived from it', () => {
    expect(() => readConfig({ ...derived('api'), MASTER_KEY }, 'api')).toThrow('keep only one of them');
  });

  it.each(['MASTER_KEY', 'SEAL_KEY_API_KEYS'])('%s from before the last rotation requires its successor', (name) => {
    const env = { ...derived('worker'), [`${name}_PREVIOUS`]: NEXT_KEY };
    expect(() => readConfig(env, 'worker')).toThrow(`${name}_PREVIOUS is set without ${name}`);
  });

  it('derives nothing without a MASTER_KEY, or from a wrong one', () => {
    expect(() => deriveSettings({}, 'api')).toThrow('MASTER_KEY is required');
    expect(() => deriveSettings({ MASTER_KEY: 'short' }, 'api')).toThrow('MASTER_KEY must be 32 bytes in base64');
  });

  it('a console gets only that of second factors', () => {
    const names = deriveSettings({ MASTER_KEY }, 'console').map(({ name }) => name);
    expect(names).toEqual(['SEAL_KEY_SECOND_FACTORS']);
  });

  it('derived values stay the same across versions', () => {
    const lines = deriveSettings({ MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }, 'api');
    expect(lines).toEqual([
      { name: 'SEAL_KEY_API_KEYS', value: '9RQgq0Z/82wne8rQB1fIo2RoM+vFRjqp5rtVjop+09w=' },
      { name: 'SEAL_KEY_QUOTES', value: 'bKq6vkmzFehCmWtVC7eInLZzZxBaCdNHW7YS03jEH1k=' },
      { name: 'SEAL_KEY_WEBHOOKS', value: 'AvuK76gViE3Ac0C4pY+irxDio2gf0dHN70aONqhybcE=' },
    ]);
  });
});
