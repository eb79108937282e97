/** What a mail says: one line for each thing that happened, with where to see it, and how to end these mails. Pure. */
import { usdBalanceOf } from '../domain/conversion.js';
import type { Credits } from '../domain/units.js';
import type { EventBody, EventData } from '../events/payload.js';
import type { NotifiedEvent } from './event-kinds.js';

/** Lines of one mail; what is beyond is counted. */
export const LINES_MAX = 20;
const WORDS_MAX = 120;

/** What a mail of one event is called. A subject holds no words of a tenant: a name may be an advertisement. */
const TITLES: Readonly<Record<NotifiedEvent, string>> = {
  'balance.low': 'The balance is low',
  'deposit.credited': 'A deposit was credited',
  'deposit.held': 'A deposit waits for your operator',
  'order.unresolved': 'An order needs attention',
  'order.refunded': 'An order was refunded',
  'auto_delegation.paused': 'An auto-delegation is paused',
  'webhook.failing': 'A webhook is failing',
  'webhook.disabled': 'A webhook is switched off',
  'key.created': 'An API key was made',
  'key.rotated': 'An API key has a new secret',
  'key.revoked': 'An API key was revoked',
  'project.frozen': 'The project is frozen',
  'project.unfrozen': 'The project is no longer frozen',
  'statement.ready': 'A statement is ready',
};

export interface MailLine {
  /** In the subject of a mail that has this line alone. */
  readonly title: string;
  readonly at: string | undefined;
  readonly says: string;
  /** In the console; undefined where there is no page of it. */
  readonly path: string | undefined;
}

/** Something that people named, on one line and not longer than that. */
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

/** By its number: an order's key is its caller's own business. */
const orderPath = (data: EventData): string => `/orders/${order(data)}`;

const SENTENCES: Readonly<Record<NotifiedEvent, Sentence>> = {
  'balance.low': ({ balance }) => [
    `The balance is $${balance?.usd_balance ?? ''}, below $${usdBalanceOf(BigInt(balance?.low_balance_credits ?? 0) as Credits)}`,
    '/billing/top-up',
  ],
  'deposit.credited': (data) => [`A deposit of ${amountOf(data)} was credited`, '/billing/top-up'],
  'deposit.held': (data) => [`A deposit of ${amountOf(data)} waits for your operator`, '/billing/top-up'],
  'order.unresolved': (data) => [`Order ${order(data)} needs attention: its outcome is not known yet`, orderPath(data)],
  'order.refunded': (data) => [`Order ${order(data)} was not delivered; its charge was returned`, orderPath(data)],
  'auto_delegation.paused': ({ auto_delegation: auto }) => [
    `${auto?.address ?? 'An address'} is not kept supplied: ${named((auto?.pause?.reason ?? 'paused').replaceAll('_', ' ').toLowerCase())}`,
    '/auto-delegation',
  ],
  'webhook.failing': ({ webhook }) => [
    `The webhook to ${hostOf(webhook?.url)} has failed for an hour`,
    `/integration/webhooks/${webhook?.id ?? ''}`,
  ],
  'webhook.disabled': ({ webhook }) => [
    `The webhook to ${hostOf(webhook?.url)} is switched off`,
    `/integration/webhooks/${webhook?.id ?? ''}`,
  ],
  'key.created': (data) => [`The API key ${key(data)} was made`, '/integration/keys'],
  'key.rotated': (data) => [`The API key ${key(data)} has a new secret`, '/integration/keys'],
  'key.revoked': (data) => [`The API key ${key(data)} was revoked`, '/integration/keys'],
  'project.frozen': () => ['The project is frozen: its requests are refused', ''],
  'project.unfrozen': () => ['The project is no longer frozen', ''],
  'statement.ready': ({ statement }) => [
    `The statement of ${statement?.month ?? 'the month'} is ready`,
    '/billing/statements',
  ],
};

/** An event, as its log has it, in a line; undefined where none is notified of it. */
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
  /** What it is about: a project's name, or the service. In the text alone. */
  readonly about: string;
  /** The same in the subject, in words of ours. */
  readonly subject: string;
  readonly isTest: boolean;
  readonly lines: readonly MailLine[];
  /** What happened beside the lines. */
  readonly more: number;
  /** Where all of it is. */
  readonly allPath: string;
  readonly allWord: string;
  /** Where its reader changes what they are notified. */
  readonly endPath: string;
}

/** A mail's subject and text. */
export function mailText(terms: MailTerms): { readonly subject: string; readonly text: string } {
  const { url, lines, more, allPath, allWord, endPath, isTest } = terms;
  const about = `${isTest ? '[TEST] ' : ''}${named(terms.about, 60)}`;
  const count = lines.length + more;
  const what = count === 1 ? (lines[0]?.title ?? '') : `${count.toString()} things happened`;
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
    ...(more > 0 ? [`And ${more.toString()} more: see ${allWord}, ${url}${allPath}`, ''] : []),
    'You are notified of this because you chose so. To change or end these mails:',
    `${url}${endPath}`,
    '',
  ].join('\n');
  return { subject: `${isTest ? '[TEST] ' : ''}${terms.subject}: ${what}`, text };
}
