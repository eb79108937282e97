/** Every setting of the service with its default and bounds: a class for each section, a member for each variable. */
import type { RateE8 } from '../../domain/units.js';
import {
  Address,
  Addresses,
  AsManyAs,
  AtMost,
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
  RedisDatabase,
  Text,
  Url,
  Urls,
} from './setting.js';

const HTTP = ['http:', 'https:'];

/** Network interface of the process, and limits on callers. */
export class HttpSettings {
  @Text('HOST', '0.0.0.0')
  declare readonly host: string;

  @Integer('PORT', { fallback: 3000, min: 0, max: 65535 })
  declare readonly port: number;

  /** The base URL of the API, as merchants call it. */
  @OptionalOrigin('API_URL')
  declare readonly apiUrl: string | undefined;

  /** Metrics and probes show balances and addresses, so by default they are only reachable from this machine. */
  @Text('ADMIN_HOST', '127.0.0.1')
  declare readonly adminHost: string;

  /** 0 uses any free port; undefined uses the default of the process's kind. */
  @Integer('ADMIN_PORT', { min: 0, max: 65535 })
  declare readonly adminPort: number | undefined;

  @Networks('TRUSTED_PROXIES')
  declare readonly trustedProxies: readonly string[];

  @Integer('REQUEST_TIMEOUT_SEC', { fallback: 15, min: 1, max: 300 })
  declare readonly requestTimeoutSec: number;

  @AtMost('requestTimeoutSec', 'HEADERS_TIMEOUT_SEC must not exceed REQUEST_TIMEOUT_SEC')
  @Integer('HEADERS_TIMEOUT_SEC', { fallback: 10, min: 1, max: 300 })
  declare readonly headersTimeoutSec: number;

  /**
   * Seconds for which an idle connection is kept. The value must exceed the load balancer's own timeout, or requests
   * meet a closing connection.
   */
  @Integer('KEEP_ALIVE_SEC', { fallback: 65, min: 1, max: 3600 })
  declare readonly keepAliveSec: number;

  /** Seconds after SIGTERM in which requests are still accepted while /ready already fails. */
  @Integer('DRAIN_DELAY_SEC', { fallback: 0, min: 0, max: 300 })
  declare readonly drainDelaySec: number;

  /** Seconds for which a rental of the family's path is held open for its outcome. Its clients wait 60 s. */
  @Integer('RENT_HOLD_SEC', { fallback: 50, min: 1, max: 50 })
  declare readonly rentHoldSec: number;

  @Integer('MAX_REQUESTS_PER_SOCKET', { fallback: 10_000, min: 0, max: 10_000_000 })
  declare readonly maxRequestsPerSocket: number;

  @Integer('RATE_LIMIT_PER_MINUTE', { fallback: 120, min: 1, max: 10_000_000 })
  declare readonly rateLimitPerMinute: number;

  /** Long polls held open by this process; each project has its own limit too. */
  @Integer('LONG_POLLS_MAX', { fallback: 2000, min: 1, max: 100_000 })
  declare readonly longPollsMax: number;

  @Integer('STREAMS_MAX', { fallback: 2000, min: 1, max: 100_000 })
  declare readonly streamsMax: number;

  /** Seconds after which a caller that reads nothing of an answer or stream is disconnected. */
  @Integer('STREAM_SLOW_SEC', { fallback: 10, min: 1, max: 300 })
  declare readonly streamSlowSec: number;

  @Integer('GENERAL_RATE_LIMIT_PER_MINUTE', { fallback: 600, min: 1, max: 10_000_000 })
  declare readonly generalRateLimitPerMinute: number;

  /** Log lines about refused requests per second; the rest is counted in a summary. */
  @Integer('LOG_REFUSALS_PER_SEC', { fallback: 10, min: 1, max: 100_000 })
  declare readonly logRefusalsPerSec: number;

  /** Open connections; 0 = as many as the system's limit of descriptors leaves, at most 16 384. */
  @Integer('MAX_CONNECTIONS', { fallback: 0, min: 0, max: 1_000_000 })
  declare readonly maxConnections: number;

  /** Connections of one address (IPv6: /64), except trusted proxies; 0 = half of all. */
  @Integer('MAX_CONNECTIONS_PER_ADDRESS', { fallback: 0, min: 0, max: 1_000_000 })
  declare readonly maxConnectionsPerAddress: number;

  @Integer('BAD_SIGNATURES_PER_MINUTE', { fallback: 600, min: 1, max: 10_000_000 })
  declare readonly badSignaturesPerMinute: number;

  /** The age at which a project's record is read again without an announcement (docs/interface.md §2). */
  @Integer('PROJECT_CACHE_SEC', { fallback: 30, min: 1, max: 30 })
  declare readonly projectCacheSec: number;
}

/** The Postgres database. */
export class DatabaseSettings {
  /** One host or several; the host that accepts writes is used. */
  @PostgresUrl('DATABASE_URL')
  declare readonly url: string;

  /** Bypasses a pooler, for work that needs its own session: listening connections and migrations. Default: `url`. */
  @OptionalPostgresUrl('DATABASE_DIRECT_URL')
  declare readonly directUrl: string | undefined;

  /** A standby, for reads that may be slightly stale; its hosts may be those of `url`. */
  @OptionalPostgresUrl('DATABASE_READ_URL', 'standby')
  declare readonly readUrl: string | undefined;

  /** A standby that lags further behind is not read. */
  @Integer('DATABASE_READ_LAG_MAX_SEC', { fallback: 10, min: 5, max: 300 })
  declare readonly readLagMaxSec: number;

  /** off: no named prepared statements, for a pooler that gives each transaction another connection. */
  @Choice('PG_NAMED_STATEMENTS', ['on', 'off'], 'on')
  declare readonly namedStatements: 'on' | 'off';

  @Integer('DATABASE_POOL_MAX', { fallback: 16, min: 1, max: 200 })
  declare readonly poolMax: number;
}

/** The Redis server. */
export class RedisSettings {
  @RedisDatabase('REDIS_URL')
  @Url('REDIS_URL', ['redis:', 'rediss:'])
  declare readonly url: string;

  @Text('REDIS_PREFIX', 'ter')
  declare readonly prefix: string;
}

/** The nodes, and the limits on trusting them. */
export class ChainSettings {
  @Urls('TRON_FULL_NODE_URLS', HTTP)
  declare readonly fullNodeUrls: readonly string[];

  // Listed first so that it is checked last: decorators apply bottom-up.
  @AsManyAs('fullNodeUrls', 'TRON_SOLIDITY_NODE_URLS must name as many nodes as TRON_FULL_NODE_URLS, in the same order')
  @Urls('TRON_SOLIDITY_NODE_URLS', HTTP)
  declare readonly solidityNodeUrls: readonly string[];

  /** Seconds for which endings and proofs wait for a silent witness. Then they proceed with the others' agreement. */
  @Integer('WITNESS_AWAY_SEC', { fallback: 300, min: 1, max: 86_400 })
  declare readonly witnessAwaySec: number;

  /** One per node: a provider's key must not reach another provider. */
  @KeyPerUrl('TRON_API_KEYS', 'TRON_FULL_NODE_URLS')
  declare readonly apiKeys: readonly (string | undefined)[];

  @Address('TOKEN_CONTRACT')
  declare readonly tokenContract: string;

  @Integer('TRON_READ_TIMEOUT_MS', { fallback: 4000, min: 100, max: 60_000 })
  declare readonly readTimeoutMs: number;

  @Integer('TRON_BROADCAST_TIMEOUT_MS', { fallback: 5000, min: 100, max: 60_000 })
  declare readonly broadcastTimeoutMs: number;

  /** Connections of each process to each port of a node. A quarter of them is reserved for broadcasts. */
  @Integer('TRON_CONNECTIONS_MAX', { fallback: 12, min: 2, max: 1000 })
  declare readonly connectionsMax: number;

  /** A node with a head stalled for this long is not asked (docs/interface.md §18). */
  @Integer('TRON_HEAD_STALL_SEC', { fallback: 30, min: 1, max: 3600 })
  declare readonly headStallSec: number;

  /** The maximum age of a head's timestamp by the wall clock; 0 = not checked (for a chain with its own time). */
  @Integer('TRON_HEAD_AGE_MAX_SEC', { fallback: 0, min: 0, max: 86_400 })
  declare readonly headAgeMaxSec: number;

  /** Requests per second that all processes together may send to each node; 0 = unlimited. */
  @IntegerPerUrl('TRON_REQUESTS_PER_SEC', 'TRON_FULL_NODE_URLS', 100_000)
  declare readonly requestsPerSec: readonly number[];

  @AtMost('headStallSec', 'TRON_POLL_MS must not exceed TRON_HEAD_STALL_SEC', 1000)
  @Integer('TRON_POLL_MS', { fallback: 1000, min: 20, max: 60_000 })
  declare readonly pollMs: number;

  /** Seconds from the head's time to the expiration of our transactions. */
  @Integer('TRON_EXPIRATION_SEC', { fallback: 60, min: 20, max: 3600 })
  declare readonly expirationSec: number;
}

/** Sources of the TRX/USD rate. */
export class RateSettings {
  @Rate('FALLBACK_TRX_USD', '0.30')
  declare readonly fallback: RateE8;

  @Integer('RATE_MAX_AGE_SEC', { fallback: 300, min: 1, max: 86_400 })
  declare readonly maxAgeSec: number;

  @Integer('RATE_REFRESH_SEC', { fallback: 30, min: 1, max: 3600 })
  declare readonly refreshSec: number;

  /** Exchanges by name, or only `static`: the fallback rate, always fresh. */
  @List('RATE_SOURCES', 'binance,coinbase,kraken,okx')
  declare readonly sources: readonly string[];

  /** URLs that replace the public hosts of sources, as name=url. */
  @NamedUrls('RATE_SOURCE_URLS', HTTP)
  declare readonly sourceUrls: ReadonlyMap<string, string>;
}

export interface SunRange {
  readonly min: bigint;
  readonly max: bigint;
}

/** Believable values of each chain parameter. Outside them the node is at fault, and nothing is priced. */
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

/** Chain data for pricing and sizing orders. */
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

  /** Addresses known to hold the reference token. Transfers from them are simulated to size orders. */
  @Addresses('SIZING_HOLDER')
  declare readonly sizingHolders: readonly string[];
}

/** Limits and prices of sales. */
export class SalesSettings {
  @AtMost('energyMax', 'ENERGY_MIN must not exceed ENERGY_MAX')
  @Integer('ENERGY_MIN', { fallback: 1000, min: 1, max: 1_000_000_000 })
  declare readonly energyMin: number;

  @Integer('ENERGY_MAX', { fallback: 100_000_000, min: 1, max: 100_000_000_000 })
  declare readonly energyMax: number;

  @Integer('DURATION_MIN_SEC', { fallback: 300, min: 1, max: 86_400 })
  declare readonly durationMinSec: number;

  /** The minimum price of a rental, in 1/10 000 of the cost of burning TRX for its two transactions; 0 = none. */
  @Integer('PRICE_FLOOR_BPS', { fallback: 11_000, min: 0, max: 1_000_000 })
  declare readonly priceFloorBps: number;

  @Integer('QUOTE_HOLD_SEC', { fallback: 90, min: 1, max: 3600 })
  declare readonly quoteHoldSec: number;

  @Integer('ACTIVATION_MARKUP_SUN', { fallback: 100_000, min: 0, max: 1_000_000_000 })
  declare readonly activationMarkupSun: number;
}

/** Deposits of projects on chain. */
export class DepositSettings {
  /** The account's public key from which addresses are derived. Without it, no address is handed out or assigned. */
  @OptionalText('DEPOSIT_XPUB')
  declare readonly xpub: string | undefined;

  /** Smaller deposits are summed until they reach the minimum. */
  @Integer('DEPOSIT_MIN_TRX', { fallback: 10, min: 1, max: 1_000_000 })
  declare readonly minTrx: number;

  @Integer('DEPOSIT_MIN_USDT', { fallback: 5, min: 1, max: 1_000_000 })
  declare readonly minUsdt: number;

  /** With one node: dollars credited without the operator, per deposit and per day. */
  @Integer('DEPOSIT_AUTO_MAX_USD', { fallback: 500, min: 0, max: 100_000_000 })
  declare readonly autoMaxUsd: number;

  /** A sweep leaves 0.000001 USDT at each address, so that the next payment to it takes half the energy. */
  @Flag('DEPOSIT_SWEEP_LEAVES_TOKEN', true)
  declare readonly sweepLeavesToken: boolean;
}

/** Addresses that are kept supplied with energy. */
export class AutoDelegationSettings {
  /** The maximum number per project. */
  @Integer('AUTO_DELEGATIONS_PER_PROJECT', { fallback: 10_000, min: 0, max: 1_000_000 })
  declare readonly perProjectMax: number;
}

/** Management of the pool. */
export class PoolSettings {
  /**
   * Excess of a delegation over the current ratio's need, in 1/10 000 for each started day. It covers drift of the
   * ratio.
   */
  @Integer('POOL_MARGIN_BPS', { fallback: 20, min: 0, max: 1000 })
  declare readonly marginBps: number;

  @Integer('POOL_SYNC_SEC', { fallback: 3, min: 1, max: 3600 })
  declare readonly syncSec: number;

  @Integer('POOL_SLOTS_PER_WALLET', { fallback: 16, min: 1, max: 256 })
  declare readonly slotsPerWallet: number;

  /** TRX of a wallet that are not sold as bandwidth: a reserve for reclaims. */
  @Integer('POOL_MIN_BANDWIDTH_TRX', { fallback: 5, min: 0, max: 1_000_000 })
  declare readonly minBandwidthTrx: number;

  /**
   * Units of bandwidth a day that a wallet keeps for its own transactions, two of 286 for each leg. Its stake beyond
   * them is sold where bandwidth has a price.
   */
  @Integer('POOL_BANDWIDTH_KEPT', { fallback: 600_000, min: 0, max: 1_000_000_000 })
  declare readonly bandwidthKept: number;

  @List('POOL_ALLOW_WIDE_PERMISSION')
  declare readonly allowWidePermission: readonly string[];

  @Integer('POOL_ORPHAN_GRACE_SEC', { fallback: 900, min: 0, max: 604_800 })
  declare readonly orphanGraceSec: number;
}

/** Fulfilment of orders. */
export class WorkerSettings {
  @Integer('WORKER_CONCURRENCY', { fallback: 64, min: 1, max: 1000 })
  declare readonly concurrency: number;

  @Integer('WORKER_LEASE_SEC', { fallback: 15, min: 2, max: 300 })
  declare readonly leaseSec: number;

  @Integer('WORKER_SWEEP_MS', { fallback: 1000, min: 20, max: 60_000 })
  declare readonly sweepMs: number;

  @Integer('WORKER_STOP_SEC', { fallback: 20, min: 1, max: 300 })
  declare readonly stopSec: number;

  /** Starts although signatures are made in JavaScript, for trials on machines without the native library. */
  @Flag('ALLOW_SLOW_SIGNATURES', false)
  declare readonly allowSlowSignatures: boolean;

  @Integer('UNRESOLVED_AFTER_SEC', { fallback: 600, min: 1, max: 86_400 })
  declare readonly unresolvedSec: number;

  @Integer('RESEND_SEC', { fallback: 6, min: 1, max: 600 })
  declare readonly resendSec: number;

  /** Seconds between two reconciliations of ledger and orders with the chain. */
  @Integer('RECONCILE_SEC', { fallback: 60, min: 1, max: 300 })
  declare readonly reconcileSec: number;

  /** Checks per second of auto-delegations without events. Each is checked at most once in ten minutes. */
  @Integer('AUTO_DELEGATION_CHECKS_PER_SEC', { fallback: 5, min: 1, max: 1000 })
  declare readonly autoDelegationChecksPerSec: number;

  /** Test switch: `point:n` kills the process with SIGKILL when the point is passed for the n-th time. */
  @OptionalText('CRASH_AT')
  declare readonly crashAt: string | undefined;
}

/** Retention of rows that only people read. */
export class RetentionSettings {
  /**
   * Days; 0 keeps for ever. The nodes' answers to broadcasts, and how long events can be read: no money depends on
   * either.
   */
  @Integer('RETAIN_BROADCASTS_DAYS', { fallback: 30, min: 0, max: 36_500 })
  declare readonly broadcastsDays: number;

  @Integer('RETAIN_EVENTS_DAYS', { fallback: 30, min: 0, max: 36_500 })
  declare readonly eventsDays: number;

  /** Days after which a finished order moves to the archive, where it can be found as before; 0 moves none. */
  @Integer('ARCHIVE_ORDERS_DAYS', { fallback: 90, min: 0, max: 36_500 })
  declare readonly ordersDays: number;
}

/** The hosts that webhooks may name, checked when a webhook is set and when it is sent. */
export class WebhookSettings {
  @Ports('WEBHOOK_PORTS', '443,8443')
  declare readonly ports: readonly number[];

  /** Private networks that are allowed nevertheless: the operator's own hosts. */
  @Networks('WEBHOOK_ALLOW_NETWORKS')
  declare readonly allowNetworks: readonly string[];

  /** Never allowed, in spite of other settings: own addresses that the machine does not know. */
  @Networks('WEBHOOK_DENY_NETWORKS')
  declare readonly denyNetworks: readonly string[];

  @Flag('WEBHOOK_ALLOW_HTTP', false)
  declare readonly allowHttp: boolean;
}

/** URLs of the consoles, for links in invitations: origins without a trailing slash. */
export class ConsoleLinkSettings {
  @OptionalOrigin('CONSOLE_MERCHANT_URL')
  declare readonly merchant: string | undefined;

  @OptionalOrigin('CONSOLE_OPERATOR_URL')
  declare readonly operator: string | undefined;
}

/** The socket of the signer process, if there is one. */
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
