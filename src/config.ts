/**
 * The only reader of process.env: every setting, its default and its bounds, in one frozen object.
 * An error names the variable and what it wants, never the value it holds.
 */
import { isIP } from 'node:net';
import { parseRate } from './money/convert.js';
import { type RateE8 } from './money/units.js';

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

type Env = Readonly<Record<string, string | undefined>>;

/** Reads one variable at a time and collects what is wrong, so that one start names every fault. */
class Reader {
  readonly faults: string[] = [];
  constructor(private readonly env: Env) {}

  optional(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === undefined || value === '' ? undefined : value;
  }

  text(name: string, fallback?: string): string {
    const value = this.optional(name) ?? fallback;
    if (value === undefined) this.faults.push(`${name} is required`);
    return value ?? '';
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.optional(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,15}$/.test(value) ? Number.parseInt(value, 10) : Number.NaN;
    if (!(number >= min && number <= max)) {
      this.faults.push(`${name} must be an integer from ${min.toString()} to ${max.toString()}`);
      return fallback;
    }
    return number;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.optional(name)?.toLowerCase();
    if (value === undefined) return fallback;
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    this.faults.push(`${name} must be true or false`);
    return fallback;
  }

  list(name: string, fallback: readonly string[]): readonly string[] {
    const value = this.optional(name);
    if (value === undefined) return Object.freeze([...fallback]);
    return Object.freeze(
      value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    );
  }

  networks(name: string): readonly string[] {
    const parts = this.list(name, []);
    const isNetwork = (part: string): boolean => {
      const [address = '', prefix = '0', ...rest] = part.split('/');
      const bits = isIP(address) === 6 ? 128 : 32;
      return (
        isIP(address) !== 0 && /^\d{1,3}$/.test(prefix) && Number.parseInt(prefix, 10) <= bits && rest.length === 0
      );
    };
    if (!parts.every(isNetwork)) this.faults.push(`${name} must hold IP addresses or CIDR ranges`);
    return parts;
  }

  urls(name: string, schemes: readonly string[], required: boolean): readonly string[] {
    const parts = this.list(name, []);
    if (required && parts.length === 0) this.faults.push(`${name} is required`);
    for (const part of parts) {
      if (!URL.canParse(part) || !schemes.includes(new URL(part).protocol)) {
        this.faults.push(`${name} must hold URLs starting with ${schemes.join(' or ')}`);
      }
    }
    return Object.freeze(parts.map((part) => part.replace(/\/+$/, '')));
  }

  url(name: string, schemes: readonly string[]): string {
    return this.urls(name, schemes, true)[0] ?? '';
  }

  /** Comma-separated, one for each of `count` things in their order, where an empty one is none; one alone is the first's. */
  each(name: string, count: number): readonly (string | undefined)[] {
    const given = this.optional(name)?.split(',') ?? [];
    if (given.length > 1 && given.length !== count) {
      this.faults.push(`${name} must hold one value, or one for each URL of TRON_FULL_NODE_URLS, empty for none`);
    }
    return Array.from({ length: count }, (_, index) => given[index]?.trim()).map((part) =>
      part === '' ? undefined : part,
    );
  }

  /** As `each`; what goes into a header must be able to stand in one. */
  keys(name: string, count: number): readonly (string | undefined)[] {
    const keys = this.each(name, count);
    if (!keys.every((key) => key === undefined || /^[\x21-\x7e]+$/.test(key))) {
      this.faults.push(`${name} must hold keys of visible ASCII characters`);
    }
    return Object.freeze(keys);
  }

  /** As `each`; 0 where there is none. */
  limits(name: string, count: number, max: number): readonly number[] {
    const limits = this.each(name, count).map((limit) =>
      /^\d{1,15}$/.test(limit ?? '0') ? Number(limit ?? '0') : Number.NaN,
    );
    if (!limits.every((limit) => limit <= max)) {
      this.faults.push(`${name} must hold integers from 0 to ${max.toString()}`);
    }
    return Object.freeze(limits);
  }

  /** `name=url,name=url` */
  namedUrls(name: string, schemes: readonly string[]): ReadonlyMap<string, string> {
    const urls = new Map<string, string>();
    for (const part of this.list(name, [])) {
      const at = part.indexOf('=');
      const url = part.slice(at + 1);
      if (at < 1 || !URL.canParse(url) || !schemes.includes(new URL(url).protocol)) {
        this.faults.push(`${name} must hold name=URL pairs, the URLs starting with ${schemes.join(' or ')}`);
      } else urls.set(part.slice(0, at), url.replace(/\/+$/, ''));
    }
    return urls;
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const value = this.optional(name) ?? fallback;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.faults.push(`${name} must be one of ${choices.join(', ')}`);
    return found ?? fallback;
  }

  key(name: string): Buffer | undefined {
    const value = this.optional(name);
    if (value === undefined) return undefined;
    const bytes = Buffer.from(value, 'base64');
    if (bytes.length !== 32 || bytes.toString('base64').replace(/=+$/, '') !== value.replace(/=+$/, '')) {
      this.faults.push(`${name} must be 32 bytes in base64 (make one: openssl rand -base64 32)`);
      return undefined;
    }
    return bytes;
  }

  /** `min-max`, both included, in sun. */
  range(name: string, fallback: string, limit: number): { readonly min: bigint; readonly max: bigint } {
    const match = /^(\d{1,15})-(\d{1,15})$/.exec(this.optional(name) ?? fallback);
    const [min, max] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
    if (min < 1 || max < min || max > limit) {
      this.faults.push(`${name} must be two integers from 1 to ${limit.toString()} as MIN-MAX`);
    }
    return Object.freeze({ min: BigInt(min), max: BigInt(max) });
  }

  rate(name: string, fallback: string): RateE8 {
    const rate = parseRate(this.optional(name) ?? fallback);
    if (rate === undefined) this.faults.push(`${name} must be a positive decimal with at most eight fraction digits`);
    return rate ?? (0n as RateE8);
  }
}

const LOG_LEVELS: readonly LogLevel[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** How the process meets the world: ports, stores, nodes. */
function outside(r: Reader) {
  const fullNodeUrls = r.urls('TRON_FULL_NODE_URLS', ['http:', 'https:'], true);
  return {
    http: {
      host: r.text('HOST', '0.0.0.0'),
      port: r.integer('PORT', 3000, 0, 65535),
      /** Metrics and probes; 0 takes any free port. */
      adminPort: r.integer('ADMIN_PORT', 0, 0, 65535),
      trustedProxies: r.networks('TRUSTED_PROXIES'),
      requestTimeoutSec: r.integer('REQUEST_TIMEOUT_SEC', 15, 1, 300),
      headersTimeoutSec: r.integer('HEADERS_TIMEOUT_SEC', 10, 1, 300),
      /** How long an idle connection is kept: longer than a load balancer keeps its own, or requests meet its end. */
      keepAliveSec: r.integer('KEEP_ALIVE_SEC', 65, 1, 3600),
      /** How long after SIGTERM requests are still taken while /ready already says no. */
      drainDelaySec: r.integer('DRAIN_DELAY_SEC', 0, 0, 300),
      maxRequestsPerSocket: r.integer('MAX_REQUESTS_PER_SOCKET', 10_000, 0, 10_000_000),
      rateLimitPerMinute: r.integer('RATE_LIMIT_PER_MINUTE', 120, 1, 10_000_000),
      /** Lines about refused requests per second; the rest are counted in a summary. */
      logRefusalsPerSec: r.integer('LOG_REFUSALS_PER_SEC', 10, 1, 100_000),
      /** Open connections; 0 = as many as the system's limit of descriptors leaves. */
      maxConnections: r.integer('MAX_CONNECTIONS', 0, 0, 1_000_000),
      badSignaturesPerMinute: r.integer('BAD_SIGNATURES_PER_MINUTE', 600, 1, 10_000_000),
      /** The age at which a project's record is read again, when no announcement came before (Spec 5.2 rule 4). */
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
      /** A node whose head has not moved for this long is not asked (Contract 9). */
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

/** What each chain parameter can be believed to be: outside of it the node is at fault, and nothing is priced. */
function parameterBounds(r: Reader) {
  return {
    energyFeeSun: r.range('ENERGY_FEE_BOUNDS_SUN', '10-1000', 1_000_000),
    transactionFeeSunPerByte: r.range('TRANSACTION_FEE_BOUNDS_SUN', '100-10000', 1_000_000),
    createAccountFeeSun: r.range('CREATE_ACCOUNT_FEE_BOUNDS_SUN', '10000-1000000', 1_000_000_000),
    systemContractFeeSun: r.range('SYSTEM_CONTRACT_FEE_BOUNDS_SUN', '100000-10000000', 1_000_000_000),
  };
}

/** What it sells and how it works. */
function inside(r: Reader) {
  return {
    secrets: {
      masterKey: r.key('MASTER_KEY') ?? Buffer.alloc(32),
      previousMasterKey: r.key('MASTER_KEY_PREVIOUS'),
      signerSocket: r.optional('SIGNER_SOCKET'),
    },
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
      /** Test switch: `point:n` kills the process with SIGKILL when the point is passed the n-th time. */
      crashAt: r.optional('CRASH_AT'),
    },
    retention: {
      /** Days; 0 keeps for ever. What nodes said to broadcasts, and the moves of orders: no money hangs on either. */
      broadcastsDays: r.integer('RETAIN_BROADCASTS_DAYS', 30, 0, 36_500),
      eventsDays: r.integer('RETAIN_EVENTS_DAYS', 365, 0, 36_500),
    },
    logLevel: r.choice('LOG_LEVEL', LOG_LEVELS, 'info'),
  };
}

/** Reads the settings from `env`; throws ConfigError naming every variable at fault. */
export function readConfig(env: Env = process.env) {
  const r = new Reader(env);
  if (r.optional('MASTER_KEY') === undefined) r.faults.push('MASTER_KEY is required');
  const config = { ...outside(r), ...inside(r) };
  if (config.chain.fullNodeUrls.length !== config.chain.solidityNodeUrls.length) {
    r.faults.push('TRON_SOLIDITY_NODE_URLS must name as many nodes as TRON_FULL_NODE_URLS, in the same order');
  }
  // Ignored, it would be missed only once the provider throttles.
  if ('TRON_API_KEY' in env)
    r.faults.push('TRON_API_KEY is called TRON_API_KEYS now, and a single key is the first node’s');
  if (r.faults.length > 0) throw new ConfigError(`Configuration: ${r.faults.join('; ')}.`);
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
  abstract readonly logLevel: LogLevel;
}
