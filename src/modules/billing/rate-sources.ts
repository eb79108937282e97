/**
 * The public exchanges behind TRX/USD: their endpoints, their answers, and how several answers become one rate. Prices
 * are parsed from decimal text to integers, never through a float.
 */
import { RATE_SCALE, divHalfUp, rateE8, type RateE8 } from '../../domain/units.js';

export interface RateSource {
  readonly name: string;
  readonly baseUrl: string;
  readonly path: string;
  /** Extracts the last price from the parsed answer; undefined when it is missing. */
  readonly priceIn: (json: unknown) => unknown;
}

/** Follows keys and indexes into parsed JSON; undefined as soon as one is missing. */
function member(json: unknown, ...path: readonly (string | number)[]): unknown {
  let value = json;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

// Several exchanges trade TRX only against USDT. USDT counts as a dollar: a lost peg shows as a disagreement with the
// others.
const SOURCES: readonly RateSource[] = [
  {
    name: 'binance',
    baseUrl: 'https://api.binance.com',
    path: '/api/v3/ticker/price?symbol=TRXUSDT',
    priceIn: (json) => member(json, 'price'),
  },
  {
    name: 'coinbase',
    baseUrl: 'https://api.coinbase.com',
    path: '/v2/prices/TRX-USD/spot',
    priceIn: (json) => member(json, 'data', 'amount'),
  },
  {
    name: 'kraken',
    baseUrl: 'https://api.kraken.com',
    path: '/0/public/Ticker?pair=TRXUSD',
    priceIn: (json) => member(json, 'result', 'TRXUSD', 'c', 0),
  },
  {
    name: 'okx',
    baseUrl: 'https://www.okx.com',
    path: '/api/v5/market/ticker?instId=TRX-USDT',
    priceIn: (json) => member(json, 'data', 0, 'last'),
  },
  {
    name: 'bybit',
    baseUrl: 'https://api.bybit.com',
    path: '/v5/market/tickers?category=spot&symbol=TRXUSDT',
    priceIn: (json) => member(json, 'result', 'list', 0, 'lastPrice'),
  },
  {
    name: 'kucoin',
    baseUrl: 'https://api.kucoin.com',
    path: '/api/v1/market/orderbook/level1?symbol=TRX-USDT',
    priceIn: (json) => member(json, 'data', 'price'),
  },
  {
    name: 'gate',
    baseUrl: 'https://api.gateio.ws',
    path: '/api/v4/spot/tickers?currency_pair=TRX_USDT',
    priceIn: (json) => member(json, 0, 'last'),
  },
];

export const RATE_SOURCE_NAMES: readonly string[] = SOURCES.map((source) => source.name);

export function rateSource(name: string): RateSource | undefined {
  return SOURCES.find((source) => source.name === name);
}

/** Markets of dollar tokens against dollars. Only exchanges named in RATE_SOURCES are used. */
const PEG_SOURCES: readonly RateSource[] = [
  {
    name: 'coinbase',
    baseUrl: 'https://api.coinbase.com',
    path: '/v2/prices/USDT-USD/spot',
    priceIn: (json) => member(json, 'data', 'amount'),
  },
  {
    name: 'kraken',
    baseUrl: 'https://api.kraken.com',
    path: '/0/public/Ticker?pair=USDTUSD',
    priceIn: (json) => member(json, 'result', 'USDTZUSD', 'c', 0),
  },
  {
    name: 'okx',
    baseUrl: 'https://www.okx.com',
    path: '/api/v5/market/index-tickers?instId=USDT-USD',
    priceIn: (json) => member(json, 'data', 0, 'idxPx'),
  },
];

/** A rate of a dollar token needs more than one exchange. */
export const PEG_QUORUM_MIN = 2;

export const PEG_SOURCE_NAMES: readonly string[] = PEG_SOURCES.map(({ name }) => name);

export function pegSources(names: readonly string[]): readonly RateSource[] {
  return PEG_SOURCES.filter(({ name }) => names.includes(name));
}

const PRICE = /^(\d{1,9})(?:\.(\d{1,18}))?$/;

/** Parses an exchange's price: positive decimal text, rounded half up to a rate's eight digits. */
export function readPrice(price: unknown): RateE8 | undefined {
  const match = typeof price === 'string' ? PRICE.exec(price) : null;
  if (match === null) return undefined;
  const digits = match[2] ?? '';
  const exact = BigInt((match[1] ?? '') + digits) * RATE_SCALE;
  const rate = divHalfUp(exact, 10n ** BigInt(digits.length));
  return rate > 0n ? rateE8(rate) : undefined;
}

const ANSWER_BYTES_MAX = 64 * 1024;

/** Reads the price of one source. Rejects without a price in time. `url` replaces its public host. */
export async function askSource(source: RateSource, url: string | undefined, timeoutMs: number): Promise<RateE8> {
  const response = await fetch(`${url ?? source.baseUrl}${source.path}`, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await boundedText(response);
  if (!response.ok) throw new Error(`${source.name} answered HTTP ${response.status.toString()}`);
  const rate = readPrice(source.priceIn(JSON.parse(text)));
  if (rate === undefined) throw new Error(`${source.name} answered without a price`);
  return rate;
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('an answer of an exchange was too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A rate further from the median than this, in percent, is an outlier. Exchanges rarely differ by 1 %. */
const OUTLIER_PERCENT = 5n;

/** Returns how many of the configured sources must agree: more than half, including those that do not answer. */
export function rateQuorum(configured: number): number {
  return Math.floor(configured / 2) + 1;
}

/**
 * Returns the median of the rates close to the overall median. Undefined when fewer than `quorum` agree: two exchanges
 * that contradict each other give no rate.
 */
export function agreedRate(rates: readonly RateE8[], quorum: number): RateE8 | undefined {
  const middle = median(rates);
  if (middle === undefined) return undefined;
  const agreeing = rates.filter((rate) => distance(rate, middle) * 100n <= middle * OUTLIER_PERCENT);
  return agreeing.length >= quorum ? median(agreeing) : undefined;
}

function distance(one: bigint, other: bigint): bigint {
  return one > other ? one - other : other - one;
}

function median(rates: readonly RateE8[]): RateE8 | undefined {
  const sorted = [...rates].sort((one, other) => (one < other ? -1 : one > other ? 1 : 0));
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  return upper === undefined || lower === undefined ? undefined : rateE8(divHalfUp(lower + upper, 2n));
}
