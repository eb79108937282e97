/**
 * The only reader of process.env: every setting of a process, judged, in one frozen object; and the keys it holds.
 * An error names the variable and what it wants, never the value it holds.
 */
import { StartError } from '../domain/errors.js';
import { SEAL_PURPOSES, sealKey, type SealKeys, type SealPurpose } from '../base/seal.js';
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
  /** `faults`: what is wrong, a variable at a time. */
  constructor(readonly faults: readonly string[]) {
    super('CONFIGURATION', `Configuration: ${faults.join('; ')}. .env.example has a line on each.`);
  }
}

/** Where metrics and probes are, by the kind of the process, unless ADMIN_PORT says otherwise. */
export const ADMIN_PORTS = { api: 9100, worker: 9101, sender: 9102, merchant: 9103, operator: 9104 } as const;

export type Role = 'api' | 'worker' | 'cli';
/** Sender and consoles have settings of their own, and no Role. */
export type KeyHolder = Role | 'sender' | 'console';

/** What each process opens and seals. It needs the keys of these purposes and no other. */
export const PURPOSES_OF: Readonly<Record<KeyHolder, readonly SealPurpose[]>> = {
  api: ['api-key', 'quote', 'webhook-secret'],
  worker: ['pool-key'],
  cli: ['api-key', 'pool-key', 'webhook-secret', 'second-factor'],
  sender: ['webhook-secret'],
  // The secrets of the people who sign in to it alone: it shows and seals others that it cannot open, so that a session
  // that was taken over opens none.
  console: ['second-factor'],
};

/** The setting that holds the key of one purpose, in the place of MASTER_KEY; with _PREVIOUS the one before. */
export const SEAL_KEY_SETTINGS: Readonly<Record<SealPurpose, string>> = {
  'api-key': 'SEAL_KEY_API_KEYS',
  'pool-key': 'SEAL_KEY_POOL_KEYS',
  quote: 'SEAL_KEY_QUOTES',
  'webhook-secret': 'SEAL_KEY_WEBHOOKS',
  'second-factor': 'SEAL_KEY_SECOND_FACTORS',
};

const previousOf = (name: string): string => `${name}_PREVIOUS`;

/** The secret settings. Each can be given as a file instead, by its name with _FILE. */
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

/** A member for the key of each purpose and for the one before it, by the names of their settings. */
class PurposeKeys {
  readonly [name: string]: Buffer | undefined;
}
for (const name of Object.values(SEAL_KEY_SETTINGS)) {
  Key(name)(PurposeKeys.prototype, name);
  Key(previousOf(name))(PurposeKeys.prototype, previousOf(name));
}

/** MASTER_KEY, from which every purpose's key is derived, or the keys that a process needs and no other. */
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
    r.faults.push('MASTER_KEY and keys derived from it (SEAL_KEY_…) are both set: a process takes one or the other');
  }
  if (master !== undefined) {
    for (const purpose of SEAL_PURPOSES) sealKeys.set(purpose, sealKeysOf(master, purpose));
  }
  // A worker whose signer holds the keys opens none.
  const needed = role === undefined || (role === 'worker' && signerSocket !== undefined) ? [] : PURPOSES_OF[role];
  const missing = needed.filter((purpose) => !sealKeys.has(purpose));
  if (missing.length > 0 && r.faults.length === faultsBefore) {
    const names = needed.map((purpose) => SEAL_KEY_SETTINGS[purpose]).join(' and ');
    r.faults.push(`MASTER_KEY is required, or ${names} in its place (\`cli secrets derive --for ${role ?? ''}\`)`);
  }
  return { sealKeys: sealKeys as ReadonlyMap<SealPurpose, SealKeys>, isMaster: master !== undefined, signerSocket };
}

/** The keys of one purpose under the master keys. */
function sealKeysOf({ current, previous }: SealKeys, purpose: SealPurpose): SealKeys {
  return { current: sealKey(current, purpose), previous: previous && sealKey(previous, purpose) };
}

/**
 * The lines of settings that `role` takes in the place of MASTER_KEY, derived from the MASTER_KEY (and
 * MASTER_KEY_PREVIOUS) of `env`. Throws ConfigError.
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

/** One secret setting, for commands that need no more. Throws ConfigError when it cannot be read. */
export function readSecret(env: Env, name: 'DATABASE_URL' | 'DATABASE_DIRECT_URL'): string | undefined {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const value = r.optional(name);
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return value;
}

/** The sealing keys that are set, for a command that needs no more. Throws ConfigError. */
export function readSealKeys(env: Env): ReadonlyMap<SealPurpose, SealKeys> {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const { sealKeys } = secrets(r, undefined);
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return sealKeys;
}

/** Every setting of a process; the injection token is this class. */
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

/** Reads the settings of a process from `env`; throws ConfigError naming every variable at fault. */
export function readConfig(env: Env = process.env, role: Role = 'cli'): Config {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const config = new Config(r, role);
  // Ignored, it would be missed only once the provider throttles.
  if ('TRON_API_KEY' in env)
    r.faults.push('TRON_API_KEY is called TRON_API_KEYS now, and a single key is the first node’s');
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return Object.freeze(config);
}
