/** Every setting of the service, its default and its bounds: a class for each section, a member for each variable. */
import type { RateE8 } from '../domain/units.js';
import {
  AsManyAs,
  Choice,
  Flag,
  Integer,
  IntegerPerUrl,
  KeyPerUrl,
  List,
  NamedUrls,
  Networks,
  OptionalOrigin,
  OptionalPostgresUrl,
  OptionalText,
  Ports,
  PostgresUrl,
  Range,
  Rate,
  Text,
  Url,
  Urls,
} from './setting.js';

const HTTP = ['http:', 'https:'];

/** How the process is reached, and what callers may take of it. */
export class HttpSettings {
  @Text('HOST', '0.0.0.0')
  declare readonly host: string;

  @Integer('PORT', { fallback: 3000, min: 0, max: 65535 })
  declare readonly port: number;

  /** Metrics and probes, with balances and addresses in them: from this machine alone unless said. */
  @Text('ADMIN_HOST', '127.0.0.1')
  declare readonly adminHost: string;

  /** 0 takes any free port; undefined: the one of the process's kind. */
  @Integer('ADMIN_PORT', { min: 0, max: 65535 })
  declare readonly adminPort: number | undefined;

  @Networks('TRUSTED_PROXIES')
  declare readonly trustedProxies: readonly string[];

  @Integer('REQUEST_TIMEOUT_SEC', { fallback: 15, min: 1, max: 300 })
  declare readonly requestTimeoutSec: number;

  @Integer('HEADERS_TIMEOUT_SEC', { fallback: 10, min: 1, max: 300 })
  declare readonly headersTimeoutSec: number;

  /** How long an idle connection is kept: longer than a load balancer keeps its own, or requests meet its end. */
  @Integer('KEEP_ALIVE_SEC', { fallback: 65, min: 1, max: 3600 })
  declare readonly keepAliveSec: number;

  /** How long after SIGTERM requests are still taken while /ready already says no. */
  @Integer('DRAIN_DELAY_SEC', { fallback: 0, min: 0, max: 300 })
  declare readonly drainDelaySec: number;

  /** How long a rental of the family's path is held open for its outcome: its clients wait 60 s. */
  @Integer('RENT_HOLD_SEC', { fallback: 50, min: 1, max: 50 })
  declare readonly rentHoldSec: number;

  @Integer('MAX_REQUESTS_PER_SOCKET', { fallback: 10_000, min: 0, max: 10_000_000 })
  declare readonly maxRequestsPerSocket: number;

  @Integer('RATE_LIMIT_PER_MINUTE', { fallback: 120, min: 1, max: 10_000_000 })
  declare readonly rateLimitPerMinute: number;

  /** Held open at once by this process; each project has limits of its own. */
  @Integer('LONG_POLLS_MAX', { fallback: 2000, min: 1, max: 100_000 })
  declare readonly longPollsMax: number;

  @Integer('STREAMS_MAX', { fallback: 2000, min: 1, max: 100_000 })
  declare readonly streamsMax: number;

  /** How long a caller may take nothing of an answer or a stream before it is cut off. */
  @Integer('STREAM_SLOW_SEC', { fallback: 10, min: 1, max: 300 })
  declare readonly streamSlowSec: number;

  @Integer('GENERAL_RATE_LIMIT_PER_MINUTE', { fallback: 600, min: 1, max: 10_000_000 })
  declare readonly generalRateLimitPerMinute: number;

  /** Lines about refused requests per second; the rest are counted in a summary. */
  @Integer('LOG_REFUSALS_PER_SEC', { fallback: 10, min: 1, max: 100_000 })
  declare readonly logRefusalsPerSec: number;

  /** Open connections; 0 = as many as the system's limit of descriptors leaves, at most 16 384. */
  @Integer('MAX_CONNECTIONS', { fallback: 0, min: 0, max: 1_000_000 })
  declare readonly maxConnections: number;

  /** Of one address (IPv6: /64) that is no trusted proxy; 0 = half of all. */
  @Integer('MAX_CONNECTIONS_PER_ADDRESS', { fallback: 0, min: 0, max: 1_000_000 })
  declare readonly maxConnectionsPerAddress: number;

  @Integer('BAD_SIGNATURES_PER_MINUTE', { fallback: 600, min: 1, max: 10_000_000 })
  declare readonly badSignaturesPerMinute: number;

  /** The age at which a project's record is read again, when no announcement came before (docs/interface.md §2). */
  @Integer('PROJECT_CACHE_SEC', { fallback: 30, min: 1, max: 30 })
  declare readonly projectCacheSec: number;
}

/** The one Postgres, on one host or several. */
export class DatabaseSettings {
  /** One host or several; the one that takes writes serves. */
  @PostgresUrl('DATABASE_URL')
  declare readonly url: string;

  /** Past a pooler, for what needs a session of its own: connections that listen, and migrations. As `url` unless set. */
  @OptionalPostgresUrl('DATABASE_DIRECT_URL')
  declare readonly directUrl: string | undefined;

  /** A standby, for reads that may be a moment old; its hosts may be those of `url`. */
  @OptionalPostgresUrl('DATABASE_READ_URL', 'standby')
  declare readonly readUrl: string | undefined;

  /** A standby that is further behind is not read. */
  @Integer('DATABASE_READ_LAG_MAX_SEC', { fallback: 10, min: 5, max: 300 })
  declare readonly readLagMaxSec: number;

  /** off: no statement is prepared by its name, for a pooler that gives each transaction another connection. */
  @Choice('PG_NAMED_STATEMENTS', ['on', 'off'], 'on')
  declare readonly namedStatements: 'on' | 'off';

  @Integer('DATABASE_POOL_MAX', { fallback: 16, min: 1, max: 200 })
  declare readonly poolMax: number;
}

/** The one Redis. */
export class RedisSettings {
  @Url('REDIS_URL', ['redis:', 'rediss:'])
  declare readonly url: string;

  @Text('REDIS_PREFIX', 'ter')
  declare readonly prefix: string;
}

/** The nodes, and what they are believed. */
export class ChainSettings {
  @Urls('TRON_FULL_NODE_URLS', HTTP)
  declare readonly fullNodeUrls: readonly string[];

  // Above, so that it is judged last: decorators apply from the member up.
  @AsManyAs('fullNodeUrls', 'TRON_SOLIDITY_NODE_URLS must name as many nodes as TRON_FULL_NODE_URLS, in the same order')
  @Urls('TRON_SOLIDITY_NODE_URLS', HTTP)
  declare readonly solidityNodeUrls: readonly string[];

  /** How long endings and proofs wait for a witness that is silent, before they go on by the others' word. */
  @Integer('WITNESS_AWAY_SEC', { fallback: 300, min: 1, max: 86_400 })
  declare readonly witnessAwaySec: number;

  /** By node: a provider's key is nobody else's business. */
  @KeyPerUrl('TRON_API_KEYS', 'TRON_FULL_NODE_URLS')
  declare readonly apiKeys: readonly (string | undefined)[];

  @Text('TOKEN_CONTRACT')
  declare readonly tokenContract: string;

  @Integer('TRON_READ_TIMEOUT_MS', { fallback: 4000, min: 100, max: 60_000 })
  declare readonly readTimeoutMs: number;

  @Integer('TRON_BROADCAST_TIMEOUT_MS', { fallback: 5000, min: 100, max: 60_000 })
  declare readonly broadcastTimeoutMs: number;

  /** Of each process to each port of a node; a quarter of them are for broadcasts alone. */
  @Integer('TRON_CONNECTIONS_MAX', { fallback: 12, min: 2, max: 1000 })
  declare readonly connectionsMax: number;

  /** A node whose head has not moved for this long is not asked (docs/interface.md §18). */
  @Integer('TRON_HEAD_STALL_SEC', { fallback: 30, min: 1, max: 3600 })
  declare readonly headStallSec: number;

  /** The oldest a head's timestamp may be by the wall clock; 0 = not judged (a chain of its own time). */
  @Integer('TRON_HEAD_AGE_MAX_SEC', { fallback: 0, min: 0, max: 86_400 })
  declare readonly headAgeMaxSec: number;

  /** Requests per second that all processes together may send to each node; 0 = unlimited. */
  @IntegerPerUrl('TRON_REQUESTS_PER_SEC', 'TRON_FULL_NODE_URLS', 100_000)
  declare readonly requestsPerSec: readonly number[];

  @Integer('TRON_POLL_MS', { fallback: 1000, min: 20, max: 60_000 })
  declare readonly pollMs: number;

  /** How far ahead of the head a transaction of ours expires. */
  @Integer('TRON_EXPIRATION_SEC', { fallback: 60, min: 20, max: 3600 })
  declare readonly expirationSec: number;
}

/** Where the TRX/USD rate comes from. */
export class RateSettings {
  @Rate('FALLBACK_TRX_USD', '0.30')
  declare readonly fallback: RateE8;

  @Integer('RATE_MAX_AGE_SEC', { fallback: 300, min: 1, max: 86_400 })
  declare readonly maxAgeSec: number;

  @Integer('RATE_REFRESH_SEC', { fallback: 30, min: 1, max: 3600 })
  declare readonly refreshSec: number;

  /** Exchanges by name, or `static` alone: the fallback rate, always fresh. */
  @List('RATE_SOURCES', 'binance,coinbase,kraken,okx')
  declare readonly sources: readonly string[];

  /** Where to reach a source instead of its public host, as name=url. */
  @NamedUrls('RATE_SOURCE_URLS', HTTP)
  declare readonly sourceUrls: ReadonlyMap<string, string>;
}

export interface SunRange {
  readonly min: bigint;
  readonly max: bigint;
}

/** What each chain parameter can be believed to be: outside of it the node is at fault, and nothing is priced. */
export class ParameterBounds {
  @Range('ENERGY_FEE_BOUNDS_SUN', '10-1000', 1_000_000)
  declare readonly energyFeeSun: SunRange;

  @Range('TRANSACTION_FEE_BOUNDS_SUN', '100-10000', 1_000_000)
  declare readonly transactionFeeSunPerByte: SunRange;

  @Range('CREATE_ACCOUNT_FEE_BOUNDS_SUN', '10000-1000000', 1_000_000_000)
  declare readonly createAccountFeeSun: SunRange;

  @Range('SYSTEM_CONTRACT_FEE_BOUNDS_SUN', '100000-10000000', 1_000_000_000)
  declare readonly systemContractFeeSun: SunRange;
}

/** What is read of the chain to price and size orders. */
export class MarketSettings {
  @Integer('MARKET_REFRESH_SEC', { fallback: 10, min: 1, max: 3600 })
  declare readonly refreshSec: number;

  @Integer('MARKET_MAX_AGE_SEC', { fallback: 60, min: 1, max: 3600 })
  declare readonly maxAgeSec: number;

  @Integer('SIZING_REFRESH_SEC', { fallback: 600, min: 1, max: 86_400 })
  declare readonly sizingRefreshSec: number;

  @Integer('WARM_ENERGY', { fallback: 65_000, min: 1000, max: 100_000_000 })
  declare readonly warmEnergy: number;

  @Integer('COLD_ENERGY', { fallback: 131_000, min: 1000, max: 100_000_000 })
  declare readonly coldEnergy: number;

  /** An address known to hold the reference token, from which transfers are simulated to size orders. */
  @OptionalText('SIZING_HOLDER')
  declare readonly sizingHolder: string | undefined;
}

/** What is on sale. */
export class SalesSettings {
  @Integer('ENERGY_MIN', { fallback: 1000, min: 1, max: 1_000_000_000 })
  declare readonly energyMin: number;

  @Integer('ENERGY_MAX', { fallback: 100_000_000, min: 1, max: 100_000_000_000 })
  declare readonly energyMax: number;

  @Integer('DURATION_MIN_SEC', { fallback: 300, min: 1, max: 86_400 })
  declare readonly durationMinSec: number;

  /** The least price of any rental, in 1/10 000 of what burning TRX for its two transactions costs; 0 = none. */
  @Integer('PRICE_FLOOR_BPS', { fallback: 11_000, min: 0, max: 1_000_000 })
  declare readonly priceFloorBps: number;

  @Integer('QUOTE_HOLD_SEC', { fallback: 90, min: 1, max: 3600 })
  declare readonly quoteHoldSec: number;

  @Integer('ACTIVATION_MARKUP_SUN', { fallback: 100_000, min: 0, max: 1_000_000_000 })
  declare readonly activationMarkupSun: number;
}

/** What projects pay in on chain. */
export class DepositSettings {
  /** The account's public key that addresses are derived from; without it no address is given out or assigned. */
  @OptionalText('DEPOSIT_XPUB')
  declare readonly xpub: string | undefined;

  /** What is smaller is summed until it passes. */
  @Integer('DEPOSIT_MIN_TRX', { fallback: 10, min: 1, max: 1_000_000 })
  declare readonly minTrx: number;

  @Integer('DEPOSIT_MIN_USDT', { fallback: 5, min: 1, max: 1_000_000 })
  declare readonly minUsdt: number;

  /** With one node: the dollars that are credited by themselves, for a deposit and for a day. */
  @Integer('DEPOSIT_AUTO_MAX_USD', { fallback: 500, min: 0, max: 100_000_000 })
  declare readonly autoMaxUsd: number;

  /** A sweep leaves 0.000001 USDT at each address, so that the next payment there takes half the energy. */
  @Flag('DEPOSIT_SWEEP_LEAVES_TOKEN', true)
  declare readonly sweepLeavesToken: boolean;
}

/** Addresses that are kept supplied with energy. */
export class AutoDelegationSettings {
  /** Beyond so many a project makes no further one. */
  @Integer('AUTO_DELEGATIONS_PER_PROJECT', { fallback: 10_000, min: 0, max: 1_000_000 })
  declare readonly perProjectMax: number;
}

/** How the pool is kept. */
export class PoolSettings {
  /** What a delegation is larger than the ratio of the moment asks, in 1/10 000 for each day begun, against the ratio's drift. */
  @Integer('POOL_MARGIN_BPS', { fallback: 20, min: 0, max: 1000 })
  declare readonly marginBps: number;

  @Integer('POOL_SYNC_SEC', { fallback: 3, min: 1, max: 3600 })
  declare readonly syncSec: number;

  @Integer('POOL_SLOTS_PER_WALLET', { fallback: 16, min: 1, max: 256 })
  declare readonly slotsPerWallet: number;

  /** TRX of a wallet that are not sold as bandwidth: a reserve for reclaims. */
  @Integer('POOL_MIN_BANDWIDTH_TRX', { fallback: 5, min: 0, max: 1_000_000 })
  declare readonly minBandwidthTrx: number;

  @List('POOL_ALLOW_WIDE_PERMISSION')
  declare readonly allowWidePermission: readonly string[];

  @Integer('POOL_ORPHAN_GRACE_SEC', { fallback: 900, min: 0, max: 604_800 })
  declare readonly orphanGraceSec: number;
}

/** How orders are fulfilled. */
export class WorkerSettings {
  @Integer('WORKER_CONCURRENCY', { fallback: 64, min: 1, max: 1000 })
  declare readonly concurrency: number;

  @Integer('WORKER_LEASE_SEC', { fallback: 15, min: 2, max: 300 })
  declare readonly leaseSec: number;

  @Integer('WORKER_SWEEP_MS', { fallback: 1000, min: 20, max: 60_000 })
  declare readonly sweepMs: number;

  @Integer('WORKER_STOP_SEC', { fallback: 20, min: 1, max: 300 })
  declare readonly stopSec: number;

  @Integer('UNRESOLVED_AFTER_SEC', { fallback: 600, min: 1, max: 86_400 })
  declare readonly unresolvedSec: number;

  @Integer('RESEND_SEC', { fallback: 6, min: 1, max: 600 })
  declare readonly resendSec: number;

  /** How often ledger and orders are held against the chain. */
  @Integer('RECONCILE_SEC', { fallback: 60, min: 1, max: 300 })
  declare readonly reconcileSec: number;

  /** How many auto-delegations that nothing happened to are checked in a second, each no sooner than after ten minutes. */
  @Integer('AUTO_DELEGATION_CHECKS_PER_SEC', { fallback: 5, min: 1, max: 1000 })
  declare readonly autoDelegationChecksPerSec: number;

  /** Test switch: `point:n` kills the process with SIGKILL when the point is passed the n-th time. */
  @OptionalText('CRASH_AT')
  declare readonly crashAt: string | undefined;
}

/** How long rows are kept that only people read; days, 0 keeps for ever. */
export class RetentionSettings {
  /** Days; 0 keeps for ever. What nodes said to broadcasts, and how long events can be read: no money hangs on either. */
  @Integer('RETAIN_BROADCASTS_DAYS', { fallback: 30, min: 0, max: 36_500 })
  declare readonly broadcastsDays: number;

  @Integer('RETAIN_EVENTS_DAYS', { fallback: 30, min: 0, max: 36_500 })
  declare readonly eventsDays: number;

  /** After so many days an order that is over is moved to the archive, where it is found as before; 0 leaves all where they are. */
  @Integer('ARCHIVE_ORDERS_DAYS', { fallback: 90, min: 0, max: 36_500 })
  declare readonly ordersDays: number;
}

/** Which hosts webhooks may name, for who takes them and for who sends. */
export class WebhookSettings {
  @Ports('WEBHOOK_PORTS', '443,8443')
  declare readonly ports: readonly number[];

  /** Also not public ones: hosts of one's own. */
  @Networks('WEBHOOK_ALLOW_NETWORKS')
  declare readonly allowNetworks: readonly string[];

  /** Never, whatever else is allowed: addresses of one's own that the machine does not know of. */
  @Networks('WEBHOOK_DENY_NETWORKS')
  declare readonly denyNetworks: readonly string[];

  @Flag('WEBHOOK_ALLOW_HTTP', false)
  declare readonly allowHttp: boolean;
}

/** Where people reach the consoles, for the links of invitations: origins, without a slash at their end. */
export class ConsoleLinkSettings {
  @OptionalOrigin('CONSOLE_MERCHANT_URL')
  declare readonly merchant: string | undefined;

  @OptionalOrigin('CONSOLE_OPERATOR_URL')
  declare readonly operator: string | undefined;
}

/** Where another process signs, if one does. */
export class SignerSettings {
  @OptionalText('SIGNER_SOCKET')
  declare readonly signerSocket: string | undefined;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export class LogSettings {
  @Choice('LOG_LEVEL', LOG_LEVELS, 'info')
  declare readonly level: LogLevel;
}
