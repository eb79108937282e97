/**
 * The settings of a console, which serves one audience: its database, its URL, and the key of its people's second
 * factors. It holds no other key, so that a hijacked session opens no other secret.
 */
import type { SealKeys, SealPurpose } from '../support/seal.js';
import { AUDIENCES, type Audience } from '../../domain/audience.js';
import { ADMIN_PORTS, ConfigError, SEAL_KEY_SETTINGS, SECRET_SETTINGS } from './config.js';
import { Address, Choice, Integer, isLoopback, Key, OptionalOrigin, OptionalText, Text } from './setting.js';
import {
  AutoDelegationSettings,
  ConsoleLinkSettings,
  DatabaseSettings,
  DepositSettings,
  HttpSettings,
  LogSettings,
  MarketSettings,
  PoolSettings,
  RateSettings,
  RetentionSettings,
  SalesSettings,
  WebhookSettings,
} from './settings.js';
import { readMail } from './mail-settings.js';
import { SettingsReader, type Env } from './settings-reader.js';

const KEY = SEAL_KEY_SETTINGS['second-factor'];
/** The default port of a console, unless PORT is set. */
const CONSOLE_PORTS = { merchant: 3001, operator: 3002 } as const satisfies Record<Audience, number>;

class ConsoleSettings {
  @Choice('CONSOLE_AUDIENCE', ['', ...AUDIENCES], '')
  declare readonly audience: Audience | '';

  /** The URL for browsers: the only origin that the console answers. */
  @OptionalOrigin('CONSOLE_URL')
  declare readonly url: string | undefined;

  /** The cost of hashing a password, as a power of two: 17 takes 128 MB and a third of a second. */
  @Integer('CONSOLE_PASSWORD_COST', { fallback: 17, min: 14, max: 20 })
  declare readonly passwordCostLog2: number;

  /** The URL of a transaction, with `{txid}` as its placeholder, as https://tronscan.org/#/transaction/{txid}. */
  @OptionalText('EXPLORER_URL')
  declare readonly explorerUrl: string | undefined;

  /** A booking above this amount waits for another admin's approval. */
  @Integer('APPROVAL_CREDITS', { fallback: 10_000_000_000, min: 0, max: 999_999_999_999_999 })
  declare readonly approvalCredits: number;

  /** The node in the commands with which a reader verifies an order: any node that serves final blocks. */
  @Text('CHECK_NODE_URL', 'https://api.trongrid.io')
  declare readonly checkNodeUrl: string;

  /** The e-mail address or https URL under which merchants reach the operator. */
  @OptionalText('OPERATOR_CONTACT')
  declare readonly contact: string | undefined;

  @Integer('CONSOLE_STOP_SEC', { fallback: 20, min: 1, max: 300 })
  declare readonly stopSec: number;

  @OptionalText('HOST')
  declare readonly host: string | undefined;

  @Integer('PORT', { min: 0, max: 65535 })
  declare readonly port: number | undefined;

  @Key(KEY)
  declare readonly current: Buffer | undefined;

  @Key(`${KEY}_PREVIOUS`)
  declare readonly previous: Buffer | undefined;
}

class TokenSettings {
  @Address('TOKEN_CONTRACT')
  declare readonly tokenContract: string;
}

/** Reads the settings from `env`. Throws ConfigError naming every faulty variable. Refuses any key but its own. */
export function readConsoleConfig(env: Env) {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const own = r.read(ConsoleSettings);
  if (own.audience === '') r.faults.push(`CONSOLE_AUDIENCE is required: ${AUDIENCES.join(' or ')}`);
  const audience = own.audience === '' ? 'merchant' : own.audience;
  const { url } = own;
  addUrlFaults(r, own);
  const http = r.read(HttpSettings);
  const isSecure = url?.startsWith('https:') === true;
  // An operator console, and any console without TLS, listens only on this machine by default.
  const host = own.host ?? (audience === 'operator' || !isSecure ? '127.0.0.1' : '0.0.0.0');
  if (!isSecure && !isLoopback(host)) r.faults.push('HOST must be 127.0.0.1 or ::1 if CONSOLE_URL is not https');
  const config = {
    audience,
    /** The origin, without a trailing slash. */
    url: url ?? '',
    isSecure,
    /** The URL of the merchants' console: this console itself, or the configured one. */
    merchantUrl: audience === 'merchant' ? url : r.read(ConsoleLinkSettings).merchant,
    passwordCostLog2: own.passwordCostLog2,
    stopSec: own.stopSec,
    approvalCredits: BigInt(own.approvalCredits),
    explorerUrl: own.explorerUrl,
    apiUrl: http.apiUrl,
    contact: own.contact,
    /** Without a trailing slash. */
    checkNodeUrl: own.checkNodeUrl.replace(/\/+$/, ''),
    http: {
      ...http,
      host,
      port: own.port ?? CONSOLE_PORTS[audience],
      adminPort: http.adminPort ?? ADMIN_PORTS[audience],
    },
    database: r.read(DatabaseSettings),
    secrets: { sealKeys: ownKeys(r, own) },
    sales: r.read(SalesSettings),
    market: r.read(MarketSettings),
    /** The margin of a purchase in the console. */
    pool: r.read(PoolSettings),
    rates: r.read(RateSettings),
    /** The single token for deposits. */
    chain: r.read(TokenSettings),
    deposits: r.read(DepositSettings),
    autoDelegations: r.read(AutoDelegationSettings),
    retention: r.read(RetentionSettings),
    webhooks: r.read(WebhookSettings),
    /** Undefined: no notifications by e-mail. */
    mail: readMail(r),
    logLevel: r.read(LogSettings).level,
  };
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return Object.freeze(config);
}

function addUrlFaults(r: SettingsReader, { url, explorerUrl, contact, checkNodeUrl }: ConsoleSettings): void {
  if (url === undefined && !r.faults.some((fault) => fault.startsWith('CONSOLE_URL'))) {
    r.faults.push('CONSOLE_URL is required: the URL of the console in the browser');
  }
  if (explorerUrl !== undefined && !isExplorer(explorerUrl)) {
    r.faults.push('EXPLORER_URL must be an https URL that contains {txid}');
  }
  if (contact !== undefined && !isContact(contact)) {
    r.faults.push('OPERATOR_CONTACT must be an e-mail address or an https URL');
  }
  if (!isNode(checkNodeUrl)) r.faults.push('CHECK_NODE_URL must be an http or https URL without a query');
}

function ownKeys(r: SettingsReader, { current, previous }: ConsoleSettings): ReadonlyMap<SealPurpose, SealKeys> {
  if (current === undefined && r.faults.length === 0) {
    r.faults.push(`${KEY} is required (\`cli secrets derive --for console\`)`);
  }
  const others = [...SECRET_SETTINGS].filter((each) => /^(MASTER_KEY|SEAL_KEY_)/.test(each) && !each.startsWith(KEY));
  for (const other of others) {
    if (r.optional(other) !== undefined)
      r.faults.push(`${other} is set, but a console decrypts only second factors; unset it`);
  }
  return new Map(current === undefined ? [] : [['second-factor', { current, previous }]]);
}

const isExplorer = (text: string): boolean =>
  URL.canParse(text) && new URL(text).protocol === 'https:' && text.includes('{txid}');

const isContact = (text: string): boolean =>
  /^[^\s@<>"]+@[^\s@<>"]+$/.test(text) || (URL.canParse(text) && new URL(text).protocol === 'https:');

/** The URL becomes part of a command that people paste, so it may not contain characters with a meaning to a shell. */
const isNode = (text: string): boolean => URL.canParse(text) && /^https?:\/\/[\w.:[\]/-]+$/.test(text);

type Settings = ReturnType<typeof readConsoleConfig>;

/** All settings, as `readConsoleConfig` returns them; this class is the injection token. */
export abstract class ConsoleConfig implements Readonly<Settings> {
  abstract readonly audience: Settings['audience'];
  abstract readonly url: Settings['url'];
  abstract readonly isSecure: Settings['isSecure'];
  abstract readonly merchantUrl: Settings['merchantUrl'];
  abstract readonly passwordCostLog2: Settings['passwordCostLog2'];
  abstract readonly stopSec: Settings['stopSec'];
  abstract readonly approvalCredits: Settings['approvalCredits'];
  abstract readonly explorerUrl: Settings['explorerUrl'];
  abstract readonly apiUrl: Settings['apiUrl'];
  abstract readonly contact: Settings['contact'];
  abstract readonly checkNodeUrl: Settings['checkNodeUrl'];
  abstract readonly http: Settings['http'];
  abstract readonly database: Settings['database'];
  abstract readonly secrets: Settings['secrets'];
  abstract readonly sales: Settings['sales'];
  abstract readonly market: Settings['market'];
  abstract readonly pool: Settings['pool'];
  abstract readonly rates: Settings['rates'];
  abstract readonly chain: Settings['chain'];
  abstract readonly deposits: Settings['deposits'];
  abstract readonly autoDelegations: Settings['autoDelegations'];
  abstract readonly retention: Settings['retention'];
  abstract readonly webhooks: Settings['webhooks'];
  abstract readonly mail: Settings['mail'];
  abstract readonly logLevel: Settings['logLevel'];
}
