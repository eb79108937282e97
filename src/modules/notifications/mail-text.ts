/** Formats mails: one line per event with a link to it, and the way to end these mails. Pure. */
import { usdBalanceOf } from '../../domain/conversion.js';
import type { Credits } from '../../domain/units.js';
import type { EventBody, EventData } from '../events/payload.js';
import type { NotifiedEvent } from './event-kinds.js';

/** Maximum of lines in one mail. Further events are only counted. */
export const LINES_MAX = 20;
const WORDS_MAX = 120;

/** The subject of a mail with one event. It contains no tenant's text, since a name may be an advertisement. */
const TITLES: Readonly<Record<NotifiedEvent, string>> = {
  'balance.low': 'The balance is low',
  'deposit.credited': 'A deposit was credited',
  'deposit.held': 'A deposit is held for your operator',
  'order.unresolved': 'An order needs attention',
  'order.refunded': 'An order was refunded',
  'auto_delegation.paused': 'An auto-delegation is paused',
  'webhook.failing': 'A webhook is failing',
  'webhook.disabled': 'A webhook was disabled',
  'key.created': 'An API key was created',
  'key.rotated': 'An API key was rotated',
  'key.revoked': 'An API key was revoked',
  'project.frozen': 'The project is frozen',
  'project.unfrozen': 'The project is no longer frozen',
  'statement.ready': 'A statement is ready',
};

export interface MailLine {
  /** The subject of a mail with this line alone. */
  readonly title: string;
  readonly at: string | undefined;
  readonly says: string;
  /** The page in the console; undefined if there is none. */
  readonly path: string | undefined;
}

/** Returns a user-given text on one line, cut to `max` characters. */
export function named(text: string, max = WORDS_MAX): string {
  const line = text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return line.length > max ? `${line.slice(0, max - 1).trimEnd()}…` : line;
}

type Sentence = (data: EventData) => readonly [says: string, path: string];

const order = (data: EventData): string => data.order?.id.toString() ?? '';
const hostOf = (url: string | undefined): string =>
  url !== undefined && URL.canParse(url) ? new URL(url).host : 'an address';
const key = (data: EventData): string => `“${named(data.key?.name ?? '')}”`;
const amountOf = ({ deposit }: EventData): string => `${deposit?.amount ?? ''} ${deposit?.asset ?? ''}`;

/** By id: an order's key is private to its caller. */
const orderPath = (data: EventData): string => `/orders/${order(data)}`;

const SENTENCES: Readonly<Record<NotifiedEvent, Sentence>> = {
  'balance.low': ({ balance }) => [
    `The balance is $${balance?.usd_balance ?? ''}, below $${usdBalanceOf(BigInt(balance?.low_balance_credits ?? 0) as Credits)}`,
    '/billing/top-up',
  ],
  'deposit.credited': (data) => [`A deposit of ${amountOf(data)} was credited`, '/billing/top-up'],
  'deposit.held': (data) => [
    `A deposit of ${amountOf(data)} is held until your operator has checked it`,
    '/billing/top-up',
  ],
  'order.unresolved': (data) => [`Order ${order(data)} needs attention: its outcome is open`, orderPath(data)],
  'order.refunded': (data) => [`Order ${order(data)} was not delivered; its charge was returned`, orderPath(data)],
  'auto_delegation.paused': ({ auto_delegation: auto }) => [
    `${auto?.address ?? 'An address'} is no longer supplied with energy: ${named((auto?.pause?.reason ?? 'paused').replaceAll('_', ' ').toLowerCase())}`,
    '/auto-delegation',
  ],
  'webhook.failing': ({ webhook }) => [
    `The webhook to ${hostOf(webhook?.url)} has failed for an hour`,
    `/integration/webhooks/${webhook?.id ?? ''}`,
  ],
  'webhook.disabled': ({ webhook }) => [
    `The webhook to ${hostOf(webhook?.url)} was disabled`,
    `/integration/webhooks/${webhook?.id ?? ''}`,
  ],
  'key.created': (data) => [`The API key ${key(data)} was created`, '/integration/keys'],
  'key.rotated': (data) => [`The API key ${key(data)} was rotated`, '/integration/keys'],
  'key.revoked': (data) => [`The API key ${key(data)} was revoked`, '/integration/keys'],
  'project.frozen': () => ['The project is frozen: its requests are refused', ''],
  'project.unfrozen': () => ['The project is no longer frozen', ''],
  'statement.ready': ({ statement }) => [
    `The statement of ${statement?.month ?? 'the month'} is ready`,
    '/billing/statements',
  ],
};

/** Returns the line for an event of the log; undefined for types without notifications. */
export function lineOf(payload: string, projectId: string): MailLine | undefined {
  const { type, timestamp, data } = JSON.parse(payload) as EventBody;
  const sentence = (SENTENCES as Readonly<Partial<Record<string, Sentence>>>)[type];
  if (sentence === undefined) return undefined;
  const [says, path] = sentence(data);
  return { title: TITLES[type as NotifiedEvent], at: timestamp, says, path: `/p/${projectId}${path}` };
}

interface MailTerms {
  /** The origin of the console. */
  readonly url: string;
  /** The subject of the mail's text: a project's name, or the service. Never in the subject line. */
  readonly about: string;
  /** The same for the subject line, in our own words. */
  readonly subject: string;
  readonly isTest: boolean;
  readonly lines: readonly MailLine[];
  /** The number of events beyond the lines. */
  readonly more: number;
  /** The page with all events. */
  readonly allPath: string;
  readonly allWord: string;
  /** The page where the reader changes their notifications. */
  readonly endPath: string;
}

/** Returns a mail's subject and text. */
export function mailText(terms: MailTerms): { readonly subject: string; readonly text: string } {
  const { url, lines, more, allPath, allWord, endPath, isTest } = terms;
  const about = `${isTest ? '[TEST] ' : ''}${named(terms.about, 60)}`;
  const count = lines.length + more;
  const what = count === 1 ? (lines[0]?.title ?? '') : `${count.toString()} events`;
  const shown = lines.flatMap(({ at, says, path }) => [
    `- ${says}.`,
    ...(at === undefined ? [] : [`  ${at.slice(0, 16).replace('T', ' ')} UTC`]),
    ...(path === undefined ? [] : [`  ${url}${path}`]),
    '',
  ]);
  const text = [
    `${about}:`,
    '',
    ...shown,
    ...(more > 0 ? [`${more.toString()} more are listed under ${allWord}: ${url}${allPath}`, ''] : []),
    'You chose to get these e-mails. To change your choice or unsubscribe:',
    `${url}${endPath}`,
    '',
  ].join('\n');
  return { subject: `${isTest ? '[TEST] ' : ''}${terms.subject}: ${what}`, text };
}
