/**
 * The only reader of process.env: every setting, its default and its bounds, in one frozen object.
 * An error names the variable and what it wants, never the value it holds.
 */
import { StartError } from '../domain/errors.js';
import { SEAL_PURPOSES, sealKey, type SealKeys, type SealPurpose } from '../base/seal.js';
import { SettingsReader, type Env } from './settings-reader.js';

export class ConfigError extends StartError {
  override readonly name = 'ConfigError';
  /** `faults`: what is wrong, a variable at a time. */
  constructor(readonly faults: readonly string[]) {
    super('CONFIGURATION', `Configuration: ${faults.join('; ')}. .env.example has a line on each.`);
  }
}

/** Where metrics and probes are, by the kind of the process, unless ADMIN_PORT says otherwise. */
export const ADMIN_PORTS = { api: 9100, worker: 9101, sender: 9102 } as const;

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export type Role = 'api' | 'worker' | 'cli';
/** The sender has settings of its own, and no Role. */
export type KeyHolder = Role | 'sender';

/** What each process opens and seals. It needs the keys of these purposes and no other. */
export const PURPOSES_OF: Readonly<Record<KeyHolder, readonly SealPurpose[]>> = {
  api: ['api-key', 'quote', 'webhook-secret'],
  worker: ['pool-key'],
  cli: ['api-key', 'pool-key', 'webhook-secret'],
  sender: ['webhook-secret'],
};

/** The setting that holds the key of one purpose, in the place of MASTER_KEY; with _PREVIOUS the one before. */
export const SEAL_KEY_SETTINGS: Readonly<Record<SealPurpose, string>> = {
  'api-key': 'SEAL_KEY_API_KEYS',
  'pool-key': 'SEAL_KEY_POOL_KEYS',
  quote: 'SEAL_KEY_QUOTES',
  'webhook-secret': 'SEAL_KEY_WEBHOOKS',
};

const previousOf = (name: string): string => `${name}_PREVIOUS`;

/** The secret settings. Each can be given as a file instead, by its name with _FILE. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'REDIS_URL',
  'TRON_API_KEYS',
  ...['MASTER_KEY', ...Object.values(SEAL_KEY_SETTINGS)].flatMap((name) => [name, previousOf(name)]),
]);

export const LOG_LEVELS: readonly LogLevel[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** How the process meets the world: ports, stores, nodes. */
function outside(r: SettingsReader) {
  const fullNodeUrls = r.urls('TRON_FULL_NODE_URLS', ['http:', 'https:'], true);
  return {
    http: {
      host: r.text('HOST', '0.0.0.0'),
      port: r.integer('PORT', 3000, 0, 65535),
      /** Metrics and probes, with balances and addresses in them: from this machine alone unless said. */
      adminHost: r.text('ADMIN_HOST', '127.0.0.1'),
      /** 0 takes any free port; undefined: the one of the process's kind. */
      adminPort: r.optional('ADMIN_PORT') === undefined ? undefined : r.integer('ADMIN_PORT', 0, 0, 65535),
      trustedProxies: r.networks('TRUSTED_PROXIES'),
      requestTimeoutSec: r.integer('REQUEST_TIMEOUT_SEC', 15, 1, 300),
      headersTimeoutSec: r.integer('HEADERS_TIMEOUT_SEC', 10, 1, 300),
      /** How long an idle connection is kept: longer than a load balancer keeps its own, or requests meet its end. */
      keepAliveSec: r.integer('KEEP_ALIVE_SEC', 65, 1, 3600),
      /** How long after SIGTERM requests are still taken while /ready already says no. */
      drainDelaySec: r.integer('DRAIN_DELAY_SEC', 0, 0, 300),
      /** How long a rental of the family's path is held open for its outcome: its clients wait 60 s. */
      rentHoldSec: r.integer('RENT_HOLD_SEC', 50, 1, 50),
      maxRequestsPerSocket: r.integer('MAX_REQUESTS_PER_SOCKET', 10_000, 0, 10_000_000),
      rateLimitPerMinute: r.integer('RATE_LIMIT_PER_MINUTE', 120, 1, 10_000_000),
      /** Held open at once by this process; each project has limits of its own. */
      longPollsMax: r.integer('LONG_POLLS_MAX', 2000, 1, 100_000),
      streamsMax: r.integer('STREAMS_MAX', 2000, 1, 100_000),
      /** How long a reader of a stream may take nothing before it is cut off. */
      streamSlowSec: r.integer('STREAM_SLOW_SEC', 10, 1, 300),
      generalRateLimitPerMinute: r.integer('GENERAL_RATE_LIMIT_PER_MINUTE', 600, 1, 10_000_000),
      /** Lines about refused requests per second; the rest are counted in a summary. */
      logRefusalsPerSec: r.integer('LOG_REFUSALS_PER_SEC', 10, 1, 100_000),
      /** Open connections; 0 = as many as the system's limit of descriptors leaves, at most 16 384. */
      maxConnections: r.integer('MAX_CONNECTIONS', 0, 0, 1_000_000),
      /** Of one address (IPv6: /64) that is no trusted proxy; 0 = half of all. */
      maxConnectionsPerAddress: r.integer('MAX_CONNECTIONS_PER_ADDRESS', 0, 0, 1_000_000),
      badSignaturesPerMinute: r.integer('BAD_SIGNATURES_PER_MINUTE', 600, 1, 10_000_000),
      /** The age at which a project's record is read again, when no announcement came before (docs/interface.md §2). */
      projectCacheSec: r.integer('PROJECT_CACHE_SEC', 30, 1, 30),
    },
    database: {
      url: r.url('DATABASE_URL', ['postgres:', 'postgresql:']),
      poolMax: r.integer('DATABASE_POOL_MAX', 16, 1, 200),
    },
    redis: {
      url: r.url('REDIS_URL', ['redis:', 'rediss:']),
      prefix: r.text('REDIS_PREFIX', 'ter'),
    },
    chain: {
      fullNodeUrls,
      solidityNodeUrls: r.urls('TRON_SOLIDITY_NODE_URLS', ['http:', 'https:'], true),
      /** How long endings and proofs wait for a witness that is silent, before they go on by the others' word. */
      witnessAwaySec: r.integer('WITNESS_AWAY_SEC', 300, 1, 86_400),
      /** By node: a provider's key is nobody else's business. */
      apiKeys: r.keys('TRON_API_KEYS', fullNodeUrls.length),
      tokenContract: r.text('TOKEN_CONTRACT'),
      readTimeoutMs: r.integer('TRON_READ_TIMEOUT_MS', 4000, 100, 60_000),
      broadcastTimeoutMs: r.integer('TRON_BROADCAST_TIMEOUT_MS', 5000, 100, 60_000),
      /** A node whose head has not moved for this long is not asked (docs/interface.md §18). */
      headStallSec: r.integer('TRON_HEAD_STALL_SEC', 30, 1, 3600),
      /** The oldest a head's timestamp may be by the wall clock; 0 = not judged (a chain of its own time). */
      headAgeMaxSec: r.integer('TRON_HEAD_AGE_MAX_SEC', 0, 0, 86_400),
      /** Requests per second that all processes together may send to each node; 0 = unlimited. */
      requestsPerSec: r.limits('TRON_REQUESTS_PER_SEC', fullNodeUrls.length, 100_000),
      pollMs: r.integer('TRON_POLL_MS', 1000, 20, 60_000),
      /** How far ahead of the head a transaction of ours expires. */
      expirationSec: r.integer('TRON_EXPIRATION_SEC', 60, 20, 3600),
    },
  };
}

/** Which hosts webhooks may name, for who takes them and for who sends. */
export function webhookRules(r: SettingsReader) {
  return {
    ports: r.ports('WEBHOOK_PORTS', ['443', '8443']),
    /** Also not public ones: hosts of one's own. */
    allowNetworks: r.networks('WEBHOOK_ALLOW_NETWORKS'),
    /** Never, whatever else is allowed: addresses of one's own that the machine does not know of. */
    denyNetworks: r.networks('WEBHOOK_DENY_NETWORKS'),
    allowHttp: r.flag('WEBHOOK_ALLOW_HTTP', false),
  };
}

/** What each chain parameter can be believed to be: outside of it the node is at fault, and nothing is priced. */
function parameterBounds(r: SettingsReader) {
  return {
    energyFeeSun: r.range('ENERGY_FEE_BOUNDS_SUN', '10-1000', 1_000_000),
    transactionFeeSunPerByte: r.range('TRANSACTION_FEE_BOUNDS_SUN', '100-10000', 1_000_000),
    createAccountFeeSun: r.range('CREATE_ACCOUNT_FEE_BOUNDS_SUN', '10000-1000000', 1_000_000_000),
    systemContractFeeSun: r.range('SYSTEM_CONTRACT_FEE_BOUNDS_SUN', '100000-10000000', 1_000_000_000),
  };
}

/** MASTER_KEY, from which every purpose's key is derived, or the keys that a process needs and no other. */
function secrets(r: SettingsReader, role: Role | undefined) {
  const keys = (name: string): SealKeys | undefined => {
    const [current, previous] = [r.key(name), r.key(previousOf(name))];
    if (current !== undefined) return { current, previous };
    if (previous !== undefined) r.faults.push(`${previousOf(name)} is set without ${name}`);
    return undefined;
  };
  const signerSocket = r.optional('SIGNER_SOCKET');
  const faultsBefore = r.faults.length;
  const master = keys('MASTER_KEY');
  const sealKeys = new Map<SealPurpose, SealKeys>();
  for (const purpose of SEAL_PURPOSES) {
    const own = keys(SEAL_KEY_SETTINGS[purpose]);
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
  const [current, previous] = [r.key('MASTER_KEY'), r.key('MASTER_KEY_PREVIOUS')];
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
export function readSecret(env: Env, name: 'DATABASE_URL'): string | undefined {
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

/** What it sells and how it works. */
function inside(r: SettingsReader, role: Role) {
  return {
    secrets: secrets(r, role),
    rates: {
      fallback: r.rate('FALLBACK_TRX_USD', '0.30'),
      maxAgeSec: r.integer('RATE_MAX_AGE_SEC', 300, 1, 86_400),
      refreshSec: r.integer('RATE_REFRESH_SEC', 30, 1, 3600),
      /** Exchanges by name, or `static` alone: the fallback rate, always fresh. */
      sources: r.list('RATE_SOURCES', ['binance', 'coinbase', 'kraken', 'okx']),
      /** Where to reach a source instead of its public host, as name=url. */
      sourceUrls: r.namedUrls('RATE_SOURCE_URLS', ['http:', 'https:']),
    },
    market: {
      refreshSec: r.integer('MARKET_REFRESH_SEC', 10, 1, 3600),
      maxAgeSec: r.integer('MARKET_MAX_AGE_SEC', 60, 1, 3600),
      sizingRefreshSec: r.integer('SIZING_REFRESH_SEC', 600, 1, 86_400),
      warmEnergy: r.integer('WARM_ENERGY', 65_000, 1000, 100_000_000),
      coldEnergy: r.integer('COLD_ENERGY', 131_000, 1000, 100_000_000),
      /** An address known to hold the reference token, from which transfers are simulated to size orders. */
      sizingHolder: r.optional('SIZING_HOLDER'),
      parameterBounds: parameterBounds(r),
    },
    sales: {
      energyMin: r.integer('ENERGY_MIN', 1000, 1, 1_000_000_000),
      energyMax: r.integer('ENERGY_MAX', 100_000_000, 1, 100_000_000_000),
      durationMinSec: r.integer('DURATION_MIN_SEC', 300, 1, 86_400),
      /** The least price of any rental, in 1/10 000 of what burning TRX for its two transactions costs; 0 = none. */
      priceFloorBps: r.integer('PRICE_FLOOR_BPS', 11_000, 0, 1_000_000),
      quoteHoldSec: r.integer('QUOTE_HOLD_SEC', 90, 1, 3600),
      activationMarkupSun: r.integer('ACTIVATION_MARKUP_SUN', 100_000, 0, 1_000_000_000),
    },
    pool: {
      /** What a delegation is larger than the ratio of the moment asks, in 1/10 000 for each day begun, against the ratio's drift. */
      marginBps: r.integer('POOL_MARGIN_BPS', 20, 0, 1000),
      syncSec: r.integer('POOL_SYNC_SEC', 3, 1, 3600),
      slotsPerWallet: r.integer('POOL_SLOTS_PER_WALLET', 16, 1, 256),
      /** TRX of a wallet that are not sold as bandwidth: a reserve for reclaims. */
      minBandwidthTrx: r.integer('POOL_MIN_BANDWIDTH_TRX', 5, 0, 1_000_000),
      allowWidePermission: r.list('POOL_ALLOW_WIDE_PERMISSION', []),
      orphanGraceSec: r.integer('POOL_ORPHAN_GRACE_SEC', 900, 0, 604_800),
    },
    worker: {
      concurrency: r.integer('WORKER_CONCURRENCY', 64, 1, 1000),
      leaseSec: r.integer('WORKER_LEASE_SEC', 15, 2, 300),
      sweepMs: r.integer('WORKER_SWEEP_MS', 1000, 20, 60_000),
      stopSec: r.integer('WORKER_STOP_SEC', 20, 1, 300),
      unresolvedSec: r.integer('UNRESOLVED_AFTER_SEC', 600, 1, 86_400),
      resendSec: r.integer('RESEND_SEC', 6, 1, 600),
      /** How often ledger and orders are held against the chain. */
      reconcileSec: r.integer('RECONCILE_SEC', 60, 1, 300),
      /** Test switch: `point:n` kills the process with SIGKILL when the point is passed the n-th time. */
      crashAt: r.optional('CRASH_AT'),
    },
    retention: {
      /** Days; 0 keeps for ever. What nodes said to broadcasts, and how long events can be read: no money hangs on either. */
      broadcastsDays: r.integer('RETAIN_BROADCASTS_DAYS', 30, 0, 36_500),
      eventsDays: r.integer('RETAIN_EVENTS_DAYS', 30, 0, 36_500),
    },
    webhooks: webhookRules(r),
    logLevel: r.choice('LOG_LEVEL', LOG_LEVELS, 'info'),
  };
}

/** Reads the settings of a process from `env`; throws ConfigError naming every variable at fault. */
export function readConfig(env: Env = process.env, role: Role = 'cli') {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const config = { ...outside(r), ...inside(r, role) };
  if (config.chain.fullNodeUrls.length !== config.chain.solidityNodeUrls.length) {
    r.faults.push('TRON_SOLIDITY_NODE_URLS must name as many nodes as TRON_FULL_NODE_URLS, in the same order');
  }
  // Ignored, it would be missed only once the provider throttles.
  if ('TRON_API_KEY' in env)
    r.faults.push('TRON_API_KEY is called TRON_API_KEYS now, and a single key is the first node’s');
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return Object.freeze(config);
}

type Settings = ReturnType<typeof readConfig>;

/** Every setting, as `readConfig` returns it; the injection token is this class. */
export abstract class Config implements Readonly<Settings> {
  abstract readonly http: Settings['http'];
  abstract readonly database: Settings['database'];
  abstract readonly redis: Settings['redis'];
  abstract readonly chain: Settings['chain'];
  abstract readonly secrets: Settings['secrets'];
  abstract readonly rates: Settings['rates'];
  abstract readonly market: Settings['market'];
  abstract readonly sales: Settings['sales'];
  abstract readonly pool: Settings['pool'];
  abstract readonly worker: Settings['worker'];
  abstract readonly retention: Settings['retention'];
  abstract readonly webhooks: Settings['webhooks'];
  abstract readonly logLevel: LogLevel;
}
