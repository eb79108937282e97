/**
 * The only reader of process.env. Validates every setting of a process and returns them, with its keys, in one frozen
 * object. An error names the variable and its rule, never its value.
 */
import { StartError } from '../../domain/errors.js';
import { SEAL_PURPOSES, sealKey, type SealKeys, type SealPurpose } from '../support/seal.js';
import { Key } from './setting.js';
import {
  AutoDelegationSettings,
  ChainSettings,
  ConsoleLinkSettings,
  DatabaseSettings,
  DepositSettings,
  HttpSettings,
  LogSettings,
  MarketSettings,
  ParameterBounds,
  PoolSettings,
  RateSettings,
  RedisSettings,
  RetentionSettings,
  SalesSettings,
  SignerSettings,
  WebhookSettings,
  WorkerSettings,
} from './settings.js';
import { SettingsReader, type Env } from './settings-reader.js';

export class ConfigError extends StartError {
  override readonly name = 'ConfigError';
  /** `faults`: one sentence for each faulty variable. */
  constructor(readonly faults: readonly string[]) {
    super('CONFIGURATION', `Configuration: ${faults.join('; ')}. .env.example describes each setting.`);
  }
}

/** Default port of metrics and probes by kind of process, unless ADMIN_PORT is set. */
export const ADMIN_PORTS = { api: 9100, worker: 9101, sender: 9102, merchant: 9103, operator: 9104 } as const;

export type Role = 'api' | 'worker' | 'cli';
/** The sender and the consoles have their own settings and no Role. */
export type KeyHolder = Role | 'sender' | 'console';

/** The purposes for which each process opens or seals. It needs these keys and no others. */
export const PURPOSES_OF: Readonly<Record<KeyHolder, readonly SealPurpose[]>> = {
  api: ['api-key', 'quote', 'webhook-secret'],
  worker: ['pool-key'],
  cli: ['api-key', 'pool-key', 'webhook-secret', 'second-factor'],
  sender: ['webhook-secret'],
  // Only the secrets of the people who sign in to it. It lists and seals other secrets without being able to open them,
  // so that a hijacked session opens none.
  console: ['second-factor'],
};

/** The setting that holds the key of one purpose, instead of MASTER_KEY; with _PREVIOUS the previous key. */
export const SEAL_KEY_SETTINGS: Readonly<Record<SealPurpose, string>> = {
  'api-key': 'SEAL_KEY_API_KEYS',
  'pool-key': 'SEAL_KEY_POOL_KEYS',
  quote: 'SEAL_KEY_QUOTES',
  'webhook-secret': 'SEAL_KEY_WEBHOOKS',
  'second-factor': 'SEAL_KEY_SECOND_FACTORS',
};

const previousOf = (name: string): string => `${name}_PREVIOUS`;

/** The secret settings. Each can come from a file instead, named by the setting with _FILE. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_READ_URL',
  'REDIS_URL',
  'TRON_API_KEYS',
  'DEPOSIT_XPUB',
  'SMTP_URL',
  ...['MASTER_KEY', ...Object.values(SEAL_KEY_SETTINGS)].flatMap((name) => [name, previousOf(name)]),
]);

class MasterKeys {
  @Key('MASTER_KEY')
  declare readonly current: Buffer | undefined;

  @Key(previousOf('MASTER_KEY'))
  declare readonly previous: Buffer | undefined;
}

/** Members for the current and previous key of each purpose, named after their settings. */
class PurposeKeys {
  readonly [name: string]: Buffer | undefined;
}
for (const name of Object.values(SEAL_KEY_SETTINGS)) {
  Key(name)(PurposeKeys.prototype, name);
  Key(previousOf(name))(PurposeKeys.prototype, previousOf(name));
}

/** Reads MASTER_KEY, from which the key of every purpose is derived, or only the keys that the process needs. */
function secrets(r: SettingsReader, role: Role | undefined) {
  const { signerSocket } = r.read(SignerSettings);
  const faultsBefore = r.faults.length;
  const masterKeys = r.read(MasterKeys);
  const purposeKeys = r.read(PurposeKeys);
  const pair = (name: string, current: Buffer | undefined, previous: Buffer | undefined): SealKeys | undefined => {
    if (current !== undefined) return { current, previous };
    if (previous !== undefined) r.faults.push(`${previousOf(name)} is set without ${name}`);
    return undefined;
  };
  const master = pair('MASTER_KEY', masterKeys.current, masterKeys.previous);
  const sealKeys = new Map<SealPurpose, SealKeys>();
  for (const purpose of SEAL_PURPOSES) {
    const name = SEAL_KEY_SETTINGS[purpose];
    const own = pair(name, purposeKeys[name], purposeKeys[previousOf(name)]);
    if (own !== undefined) sealKeys.set(purpose, own);
  }
  if (master !== undefined && sealKeys.size > 0) {
    r.faults.push('MASTER_KEY and keys derived from it (SEAL_KEY_…) are both set; keep only one of them');
  }
  if (master !== undefined) {
    for (const purpose of SEAL_PURPOSES) sealKeys.set(purpose, sealKeysOf(master, purpose));
  }
  // A worker with a signer process opens no keys.
  const needed = role === undefined || (role === 'worker' && signerSocket !== undefined) ? [] : PURPOSES_OF[role];
  const missing = needed.filter((purpose) => !sealKeys.has(purpose));
  if (missing.length > 0 && r.faults.length === faultsBefore) {
    const names = needed.map((purpose) => SEAL_KEY_SETTINGS[purpose]).join(' and ');
    r.faults.push(`MASTER_KEY is required, or instead ${names} (\`cli secrets derive --for ${role ?? ''}\`)`);
  }
  return { sealKeys: sealKeys as ReadonlyMap<SealPurpose, SealKeys>, isMaster: master !== undefined, signerSocket };
}

/** Derives the keys of one purpose from the master keys. */
function sealKeysOf({ current, previous }: SealKeys, purpose: SealPurpose): SealKeys {
  return { current: sealKey(current, purpose), previous: previous && sealKey(previous, purpose) };
}

/**
 * Returns the settings that `role` takes instead of MASTER_KEY, derived from the MASTER_KEY (and MASTER_KEY_PREVIOUS)
 * of `env`. Throws ConfigError.
 */
export function deriveSettings(env: Env, role: KeyHolder): { readonly name: string; readonly value: string }[] {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const { current, previous } = r.read(MasterKeys);
  if (current === undefined && r.faults.length === 0) r.faults.push('MASTER_KEY is required');
  if (current === undefined || r.faults.length > 0) throw new ConfigError(r.faults);
  return PURPOSES_OF[role].flatMap((purpose) => {
    const keys = sealKeysOf({ current, previous }, purpose);
    const name = SEAL_KEY_SETTINGS[purpose];
    const line = (setting: string, key: Buffer) => ({ name: setting, value: key.toString('base64') });
    return [line(name, keys.current), ...(keys.previous ? [line(previousOf(name), keys.previous)] : [])];
  });
}

/** Reads a single secret setting, for commands that need no others. Throws ConfigError when it cannot be read. */
export function readSecret(env: Env, name: 'DATABASE_URL' | 'DATABASE_DIRECT_URL'): string | undefined {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const value = r.optional(name);
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return value;
}

/** Reads only the configured sealing keys, for a command that needs no other settings. Throws ConfigError. */
export function readSealKeys(env: Env): ReadonlyMap<SealPurpose, SealKeys> {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const { sealKeys } = secrets(r, undefined);
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return sealKeys;
}

/** All settings of a process; this class is the injection token. */
export class Config {
  readonly http: Readonly<HttpSettings>;
  readonly database: Readonly<DatabaseSettings>;
  readonly redis: Readonly<RedisSettings>;
  readonly chain: Readonly<ChainSettings>;
  readonly secrets: ReturnType<typeof secrets>;
  readonly rates: Readonly<RateSettings>;
  readonly market: MarketSettings & { readonly parameterBounds: ParameterBounds };
  readonly sales: Readonly<SalesSettings>;
  readonly deposits: DepositSettings;
  readonly autoDelegations: Readonly<AutoDelegationSettings>;
  readonly pool: Readonly<PoolSettings>;
  readonly worker: Readonly<WorkerSettings>;
  readonly retention: Readonly<RetentionSettings>;
  readonly webhooks: Readonly<WebhookSettings>;
  readonly consoles: Readonly<ConsoleLinkSettings>;
  readonly logLevel: LogSettings['level'];

  constructor(r: SettingsReader, role: Role) {
    this.http = r.read(HttpSettings);
    this.database = r.read(DatabaseSettings);
    this.redis = r.read(RedisSettings);
    this.chain = r.read(ChainSettings);
    this.secrets = secrets(r, role);
    this.rates = r.read(RateSettings);
    this.market = { ...r.read(MarketSettings), parameterBounds: r.read(ParameterBounds) };
    this.sales = r.read(SalesSettings);
    this.deposits = r.read(DepositSettings);
    this.autoDelegations = r.read(AutoDelegationSettings);
    this.pool = r.read(PoolSettings);
    this.worker = r.read(WorkerSettings);
    this.retention = r.read(RetentionSettings);
    this.webhooks = r.read(WebhookSettings);
    this.consoles = r.read(ConsoleLinkSettings);
    this.logLevel = r.read(LogSettings).level;
  }
}

/** Reads the settings of a process from `env`. Throws ConfigError naming every faulty variable. */
export function readConfig(env: Env = process.env, role: Role = 'cli'): Config {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const config = new Config(r, role);
  // If the old name were ignored, the operator would notice the missing key only when the provider throttles.
  if ('TRON_API_KEY' in env)
    r.faults.push('TRON_API_KEY was renamed: use TRON_API_KEYS, where a single key is that of the first node');
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return Object.freeze(config);
}
