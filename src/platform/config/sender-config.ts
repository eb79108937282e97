/**
 * The settings of the sender, which connects to third-party hosts: its database, its only key, and the allowed
 * destinations.
 */
import { readFileSync } from 'node:fs';
import type { SealKeys, SealPurpose } from '../support/seal.js';
import { messageOf } from '../../domain/errors.js';
import { ADMIN_PORTS, ConfigError, SEAL_KEY_SETTINGS, SECRET_SETTINGS } from './config.js';
import { Integer, Key, List, OptionalText, Text } from './setting.js';
import { DatabaseSettings, LogSettings, RetentionSettings, WebhookSettings } from './settings.js';
import { SettingsReader, type Env } from './settings-reader.js';

const KEY = SEAL_KEY_SETTINGS['webhook-secret'];

class SenderSettings {
  @Text('ADMIN_HOST', '127.0.0.1')
  declare readonly adminHost: string;

  @Integer('ADMIN_PORT', { fallback: ADMIN_PORTS.sender, min: 0, max: 65535 })
  declare readonly adminPort: number;

  @Key(KEY)
  declare readonly current: Buffer | undefined;

  @Key(`${KEY}_PREVIOUS`)
  declare readonly previous: Buffer | undefined;

  /** Empty: the system's servers. */
  @List('WEBHOOK_DNS_SERVERS')
  declare readonly dnsServers: readonly string[];

  @OptionalText('WEBHOOK_CA_FILE')
  declare readonly caFile: string | undefined;

  /** Concurrent requests. Failing endpoints get at most half of them. */
  @Integer('SENDER_CONCURRENCY', { fallback: 512, min: 2, max: 10_000 })
  declare readonly concurrency: number;

  /** Seconds for which a silent sender keeps its claims. */
  @Integer('SENDER_LEASE_SEC', { fallback: 45, min: 2, max: 300 })
  declare readonly leaseSec: number;

  @Integer('SENDER_STOP_SEC', { fallback: 20, min: 1, max: 300 })
  declare readonly stopSec: number;

  @OptionalText('CRASH_AT')
  declare readonly crashAt: string | undefined;
}

/** Reads the settings from `env`. Throws ConfigError naming every faulty variable. Refuses any key but its own. */
export function readSenderConfig(env: Env) {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const own = r.read(SenderSettings);
  if (own.current === undefined && r.faults.length === 0) {
    r.faults.push(`${KEY} is required (\`cli secrets derive --for sender\`)`);
  }
  const others = [...SECRET_SETTINGS].filter((each) => /^(MASTER_KEY|SEAL_KEY_)/.test(each) && !each.startsWith(KEY));
  for (const other of others) {
    if (r.optional(other) !== undefined)
      r.faults.push(`${other} is set, but this process decrypts only webhook secrets; unset it`);
  }
  const sealKeys = new Map<SealPurpose, SealKeys>();
  if (own.current !== undefined) {
    sealKeys.set('webhook-secret', { current: own.current, previous: own.previous });
  }
  const config = {
    http: { adminHost: own.adminHost, adminPort: own.adminPort },
    database: r.read(DatabaseSettings),
    secrets: { sealKeys: sealKeys as ReadonlyMap<SealPurpose, SealKeys> },
    webhooks: r.read(WebhookSettings),
    resolving: { dnsServers: own.dnsServers, ca: own.caFile === undefined ? undefined : readCa(r, own.caFile) },
    sender: { concurrency: own.concurrency, leaseSec: own.leaseSec, stopSec: own.stopSec },
    /** Days; 0 keeps for ever. Deliveries are kept as long as their events. */
    deliveriesDays: r.read(RetentionSettings).eventsDays,
    crashAt: own.crashAt,
    logLevel: r.read(LogSettings).level,
  };
  if (r.faults.length > 0) throw new ConfigError(r.faults);
  return Object.freeze(config);
}

function readCa(r: SettingsReader, path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    r.faults.push(`WEBHOOK_CA_FILE: ${messageOf(error)}`);
    return undefined;
  }
}

type Settings = ReturnType<typeof readSenderConfig>;

/** All settings, as `readSenderConfig` returns them; this class is the injection token. */
export abstract class SenderConfig implements Readonly<Settings> {
  abstract readonly http: Settings['http'];
  abstract readonly database: Settings['database'];
  abstract readonly secrets: Settings['secrets'];
  abstract readonly webhooks: Settings['webhooks'];
  abstract readonly resolving: Settings['resolving'];
  abstract readonly sender: Settings['sender'];
  abstract readonly deliveriesDays: number;
  abstract readonly crashAt: string | undefined;
  abstract readonly logLevel: Settings['logLevel'];
}
