/** The going-live checklist for one project: judges the data read, with one finding per line. Pure. */
import { grouped, usdText } from '../../domain/text.js';
import type { Credits } from '../../domain/units.js';
import type { ProjectView } from '../projects/projects.js';
import type { KeyView } from '../projects/api-keys.js';
import { pendingText, type WebhookView } from '../webhooks/webhooks.js';
import { fine, look, missing, type ProjectFinding } from './project-finding.js';
import {
  RECORD_DAYS,
  type EventRecords,
  type MoneyRecords,
  type OrderRecords,
  type ProjectRecords,
  type RefusalCount,
} from './project-records.js';

const DAY_MS = 86_400_000;
const UNUSED_DAYS = 90;
const OLD_DAYS = 365;
const DAYS_LEFT_LOOK = 7;
const DAYS_LEFT_MISSING = 1;
/** With this many refusals and fewer orders, the integration does not work yet. */
const REFUSALS_MANY = 10;
/** Percentage of the daily cap. */
const NEAR_PERCENT = 80n;
const DAYS = `${RECORD_DAYS.toString()} days`;

export interface ProjectChecked {
  readonly project: ProjectView;
  readonly keys: readonly KeyView[];
  readonly webhooks: readonly WebhookView[];
  readonly read: ProjectRecords;
  readonly nowMs: number;
}

export function checkProject({ project, keys, webhooks, read, nowMs }: ProjectChecked): ProjectFinding[] {
  return [
    stateOf(project),
    signaturesOf(project),
    ...keysOf(project, keys, nowMs),
    idempotencyOf(project, read.orders),
    ...webhooksOf(project, webhooks, read.successes),
    eventsOf(project, read.events),
    depositsOf(project, read.money),
    balanceOf(project, read.money),
    lowBalanceOf(project),
    capOf(project, keys, read.money),
    requestsOf(project, read),
    retriesOf(project, read),
  ];
}

function stateOf({ id, frozen }: ProjectView): ProjectFinding {
  if (!frozen) return fine('state', 'The project is active.');
  return missing(
    'state',
    'The project is frozen: every request is refused.',
    `Run \`project unfreeze ${id}\` when the reason no longer applies.`,
  );
}

function signaturesOf(project: ProjectView): ProjectFinding {
  const { id, signature_schemes: schemes } = project;
  if (schemes === 'hmac') return fine('signatures', 'The project accepts only HMAC.');
  const isLimited = project.require_quote && project.allowed_sources.length > 0 && project.daily_cap_credits !== null;
  const means =
    'MD5 covers only the body, neither path nor time: a captured quote request can be used to buy, and read requests can be repeated forever' +
    (isLimited ? '; required quotes, allowed addresses and a cap limit this.' : '.');
  const alone =
    schemes === 'md5'
      ? 'The project accepts only MD5, so it has no events, webhooks or deposits. '
      : 'The project also accepts MD5. ';
  const todo = `Run \`project options ${id} --signatures hmac\` as soon as its callers sign with HMAC.`;
  return look('signatures', alone + means, todo);
}

function keysOf(project: ProjectView, keys: readonly KeyView[], nowMs: number): ProjectFinding[] {
  const findings = keys.map((key) => keyOf(project, key, nowMs));
  if (keys.some(({ scopes }) => scopes.includes('order'))) return findings;
  const todo = `\`keys create ${project.id} --name shop --scope read quote order\`.`;
  return [...findings, missing('keys', 'No key has the scope order.', todo)];
}

function keyOf(project: ProjectView, key: KeyView, nowMs: number): ProjectFinding {
  const check = `key ${key.is_primary ? 'primary' : key.name}`;
  const days = (at: Date): number => Math.floor((nowMs - at.getTime()) / DAY_MS);
  // A caller must be on both lists, if both exist.
  const lists = [key.allowed_sources, project.allowed_sources].filter((list) => list.length > 0);
  const used = key.last_used_at === null ? 'never used' : `last used ${agoText(days(key.last_used_at))}`;
  const says = [
    `Scopes ${key.scopes.join(', ')}`,
    key.daily_cap_credits === null ? 'no cap' : `cap ${creditsText(key.daily_cap_credits)}`,
    lists.length === 0
      ? 'from any address'
      : `from ${lists.map((list) => list.join(', ')).join(', if also allowed by the project: ')}`,
    used,
    `created ${agoText(days(key.created_at))}`,
  ];
  const facts = `${says.join('; ')}.`;
  const options = `keys options ${key.id}`;
  const rotate = key.is_primary ? `project rotate-key ${project.id}` : `keys rotate ${key.id}`;
  const isBounded = key.daily_cap_credits !== null || project.daily_cap_credits !== null || lists.length > 0;
  if (key.scopes.includes('order') && !isBounded) {
    const todo = `Limit the damage of a stolen key: \`${options} --daily-cap N\`, or \`--allow-source ADDRESS\`.`;
    return look(check, facts, todo);
  }
  if (key.last_used_at === null) return look(check, facts, 'Send a request signed with it, or revoke it.');
  if (days(key.last_used_at) > UNUSED_DAYS)
    return look(check, facts, `Run \`keys revoke ${key.id}\` if it is no longer needed.`);
  if (days(key.created_at) > OLD_DAYS)
    return look(check, facts, `Replace this old secret: \`${rotate} --overlap 3600\`.`);
  return fine(check, facts);
}

function idempotencyOf({ id, require_idempotency_key: isDemanded }: ProjectView, read: OrderRecords): ProjectFinding {
  const { orders, without_key: made } = read;
  if (isDemanded) return fine('idempotency', 'Every purchase requires an Idempotency-Key.');
  const todo = `\`project options ${id} --require-idempotency-key on\`.`;
  if (orders === 0)
    return missing('idempotency', 'An Idempotency-Key is not required. There are no purchases yet.', todo);
  if (made === 0) {
    return look('idempotency', `Not required, although all ${orders.toString()} orders of ${DAYS} had a key.`, todo);
  }
  const says = `${made.toString()} of ${orders.toString()} orders of ${DAYS} had no key of their own, so they could not be retried safely after a lost answer.`;
  return missing('idempotency', says, `Ask the merchant to send a key, then ${todo}`);
}

function webhooksOf(
  { id }: ProjectView,
  webhooks: readonly WebhookView[],
  successes: ReadonlyMap<string, Date>,
): ProjectFinding[] {
  if (webhooks.length > 0) return webhooks.map((webhook) => webhookOf(webhook, successes.get(webhook.id)));
  const says = 'There are no webhooks, so events must be read from the log.';
  return [look('webhooks', says, `Run \`webhooks create ${id} --url https://…\`, unless the merchant reads the log.`)];
}

function webhookOf(webhook: WebhookView, success: Date | undefined): ProjectFinding {
  const { id, url, disabled_reason: disabled, failing_since: failingSince } = webhook;
  const check = `webhook ${new URL(url).host}`;
  if (disabled === 'owner') {
    return look(
      check,
      'An owner has disabled it.',
      `Run \`webhooks change ${id} --enabled on\`, or \`webhooks delete ${id}\`.`,
    );
  }
  if (disabled !== null) {
    const why = disabled === 'gone' ? 'its server answered 410' : 'no success for days';
    const todo = `Fix the receiver, then run \`webhooks change ${id} --enabled on\` and \`webhooks replay ${id} --after POSITION\`.`;
    return missing(check, `It was disabled: ${why}.`, todo);
  }
  if (failingSince !== null) {
    const says = `Deliveries have failed since ${momentText(failingSince)}; ${pendingText(webhook)} are waiting.`;
    return missing(check, says, `Run \`webhooks deliveries ${id} --status pending\` to see the answers.`);
  }
  if (success === undefined) return missing(check, `No delivery succeeded in ${DAYS}.`, `Run \`webhooks test ${id}\`.`);
  return fine(check, `The last delivery succeeded at ${momentText(success)}.`);
}

function eventsOf({ id }: ProjectView, { position, delivered_at: at }: EventRecords): ProjectFinding {
  if (at !== null)
    return fine(
      'events',
      `The last webhook delivery was at ${momentText(at)}; the log is at position ${position.toString()}.`,
    );
  const says = `No webhook delivery in ${DAYS}; the log is at position ${position.toString()}. Reads of the log are not recorded.`;
  const todo = `Ask the merchant for the last position that they have read, or run \`webhooks create ${id} --url https://…\`.`;
  return look('events', says, todo);
}

function depositsOf({ id }: ProjectView, { deposit_address: address, deposits }: MoneyRecords): ProjectFinding {
  const topUp = `\`credits topup ${id} N --ref …\``;
  if (address === null) return look('deposits', 'The project has no deposit address.', `Book credits with ${topUp}.`);
  if (deposits === 0) return look('deposits', `No deposit to ${address} yet.`, 'Try a small deposit first.');
  return fine('deposits', `${deposits.toString()} deposits were credited; the address is ${address}.`);
}

function balanceOf(
  { id, balance_credits: balance, floor_credits: floor }: ProjectView,
  read: MoneyRecords,
): ProjectFinding {
  const check = 'balance';
  if (floor === null) return fine(check, `${creditsText(balance)}, postpaid without a limit.`);
  const available = balance - floor;
  const todo = `\`credits topup ${id} N --ref …\`, or have a deposit paid.`;
  if (available <= 0n) return missing(check, `${creditsText(balance)}: too low for any purchase.`, todo);
  if (read.spent_credits <= 0n) return fine(check, `${creditsText(balance)}; no spending in ${DAYS}.`);
  const perDay = Number(read.spent_credits) / read.days;
  const days = Number(available) / perDay;
  const says = `${creditsText(balance)}: ${days < 1 ? 'less than a day' : daysText(Math.floor(days))} at the spending of ${DAYS}.`;
  if (days < DAYS_LEFT_MISSING) return missing(check, says, todo);
  return days < DAYS_LEFT_LOOK ? look(check, says, todo) : fine(check, says);
}

function lowBalanceOf(project: ProjectView): ProjectFinding {
  const { id, low_balance_credits: threshold, balance_credits: balance } = project;
  if (threshold === null) {
    if (project.floor_credits === null)
      return fine('low balance', 'No threshold, but the balance has no limit either.');
    const todo = `Set some days’ spending: \`project options ${id} --low-balance N\`.`;
    return missing('low balance', 'No threshold: there is no warning before the balance is used up.', todo);
  }
  if (balance >= threshold) return fine('low balance', `The event is sent below ${creditsText(threshold)}.`);
  const todo = `Run \`credits topup ${id} N --ref …\`. The next event is sent after the balance has risen above the threshold.`;
  return look('low balance', `The balance is below the threshold of ${creditsText(threshold)}.`, todo);
}

function capOf(project: ProjectView, keys: readonly KeyView[], read: MoneyRecords): ProjectFinding {
  const { id, daily_cap_credits: cap } = project;
  const todo = `Set a cap well above an ordinary day: \`project options ${id} --daily-cap N\`.`;
  if (cap === null) {
    const buying = keys.filter(({ scopes }) => scopes.includes('order'));
    if (buying.length > 0 && buying.every((key) => key.daily_cap_credits !== null)) {
      return fine('spend cap', 'Each key that can buy has a daily cap.');
    }
    if (project.floor_credits === null)
      return missing('spend cap', 'There is no daily cap and no limit of the balance.', todo);
    return look('spend cap', 'There is no daily cap: only the balance limits the cost of a mistake.', todo);
  }
  const spent = read.spent_today_credits;
  const says = `${creditsText(cap)} a day, of which ${creditsText(spent)} today.`;
  return spent * 100n >= cap * NEAR_PERCENT ? look('spend cap', says, todo) : fine('spend cap', says);
}

function requestsOf({ id }: ProjectView, { refusals, orders: { orders } }: ProjectRecords): ProjectFinding {
  const all = refusals.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return fine('requests', `No request was refused in ${DAYS}.`);
  const shares = refusals.map((each) => shareText(each, all)).join(' ');
  const says = `${all.toString()} requests were refused in ${DAYS}, compared with ${orders.toString()} orders. ${shares}`;
  const todo = `\`project requests ${id}\` lists them.`;
  return all >= REFUSALS_MANY && all > orders ? missing('requests', says, todo) : look('requests', says, todo);
}

function shareText({ status, error, count, reason }: RefusalCount, all: number): string {
  return `${Math.round((count / all) * 100).toString()} % ${status.toString()} ${error}, mostly: ${reason.replace(/\.$/, '')}.`;
}

function retriesOf({ id }: ProjectView, { orders: { twins }, refusals }: ProjectRecords): ProjectFinding {
  if (twins > 0) {
    const says = `${twins.toString()} orders without a key of their own came within a minute of an identical order: if they were retries, each was charged.`;
    return missing(
      'retries',
      says,
      `Use the same key for retries; \`project options ${id} --require-idempotency-key on\` enforces keys.`,
    );
  }
  const replayed = refusals.find(({ error }) => error === 'SIGNATURE_REPLAYED')?.count ?? 0;
  if (replayed > 0) {
    const says = `${replayed.toString()} requests repeated a nonce.`;
    return look('retries', says, 'Sign every attempt again, with the same Idempotency-Key (docs/retries.md).');
  }
  return fine('retries', 'None failed. Retries with the same key leave no record.');
}

const creditsText = (credits: Credits): string => `${grouped(credits)} credits ($${usdText(credits)})`;
const daysText = (days: number): string => (days === 1 ? '1 day' : `${days.toString()} days`);
const agoText = (days: number): string => (days <= 0 ? 'today' : `${daysText(days)} ago`);
const momentText = (at: Date): string =>
  at
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
