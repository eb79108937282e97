/**
 * The operator's mail server as one URL: smtps://user:password@host:465, or smtp://…:587, which switches to TLS before
 * anything else is sent.
 */
import { EMAIL_ADDRESS } from '../../domain/email-address.js';
import { isLoopback, OptionalText } from './setting.js';
import type { SettingsReader } from './settings-reader.js';

class MailSettings {
  /** A secret: it may contain the password. */
  @OptionalText('SMTP_URL')
  declare readonly url: string | undefined;

  /** The sender address of mails, without a name. */
  @OptionalText('MAIL_FROM')
  declare readonly from: string | undefined;
}

export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. */
  readonly isSecure: boolean;
  /** On this machine: connections without TLS are allowed. */
  readonly isLocal: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export interface MailConfig {
  readonly server: MailServer;
  readonly from: string;
}

const PORTS: Readonly<Record<string, number>> = { 'smtps:': 465, 'smtp:': 587 };
const URL_WORDS =
  'SMTP_URL must be smtps://user:password@host:port, or smtp:// with STARTTLS; percent-encode user and password if necessary';

/** Returns undefined when no mail server is configured. Faults go to the reader, never with a value. */
export function readMail(r: SettingsReader): MailConfig | undefined {
  const { url, from } = r.read(MailSettings);
  if (url === undefined && from === undefined) return undefined;
  const server = url === undefined ? undefined : serverOf(url);
  if (url === undefined) r.faults.push('SMTP_URL is required with MAIL_FROM');
  else if (server === undefined) r.faults.push(URL_WORDS);
  if (from === undefined) r.faults.push('MAIL_FROM is required beside SMTP_URL: whom mails are from');
  else if (!EMAIL_ADDRESS.test(from.toLowerCase())) r.faults.push('MAIL_FROM must be an e-mail address alone');
  return server === undefined || from === undefined ? undefined : { server, from };
}

function serverOf(text: string): MailServer | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  const fallback = PORTS[protocol];
  const [user, secret] = [decoded(username), decoded(password)];
  if (fallback === undefined || hostname === '' || !/^\/?$/.test(pathname) || search !== '' || hash !== '')
    return undefined;
  if (user === undefined || secret === undefined || (user === '') !== (secret === '')) return undefined;
  // A URL has IPv6 addresses in brackets; a connection needs them without.
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    host,
    port: port === '' ? fallback : Number(port),
    isSecure: protocol === 'smtps:',
    isLocal: host === 'localhost' || isLoopback(host),
    user: user === '' ? undefined : user,
    password: secret === '' ? undefined : secret,
  };
}

/** Returns undefined for an invalid encoding. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
