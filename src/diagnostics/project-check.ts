/** The going-live checklist for one project: judges the data read, with one finding per line. Pure. */
import { usdBalanceOf } from '../domain/conversion.js';
import type { Credits } from '../domain/units.js';
import type { ProjectView } from '../projects/projects.js';
import type { KeyView } from '../projects/api-keys.js';
import { pendingText, type WebhookView } from '../webhooks/webhooks.js';
import { fine, look, missing, type ProjectFinding } from './project-finding.js';
import {
  LOOK_DAYS,
  type EventsLook,
  type MoneyLook,
  type OrdersLook,
  type ProjectLook,
  type RefusalLook,
} from './project-look.js';

const DAY_MS = 86_400_000;
const UNUSED_DAYS = 90;
const OLD_DAYS = 365;
const DAYS_LEFT_LOOK = 7;
const DAYS_LEFT_MISSING = 1;
/** With this many refusals and fewer orders, the integration does not work yet. */
const REFUSALS_MANY = 10;
/** Percentage of the daily cap. */
const NEAR_PERCENT = 80n;
const DAYS = `${LOOK_DAYS.toString()} days`;

export interface ProjectChecked {
  readonly project: ProjectView;
  readonly keys: readonly KeyView[];
  readonly webhooks: readonly WebhookView[];
  readonly read: ProjectLook;
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
  if (!frozen) return fine('state', 'It is served.');
  return missing(
    'state',
    'It is frozen: every request is refused.',
    `\`project unfreeze ${id}\` when the reason is gone.`,
  );
}

function signaturesOf(project: ProjectView): ProjectFinding {
  const { id, signature_schemes: schemes } = project;
  if (schemes === 'hmac') return fine('signatures', 'It takes HMAC alone.');
  const isLimited = project.require_quote && project.allowed_sources.length > 0 && project.daily_cap_credits !== null;
  const means =
    'MD5 covers the body alone, neither path nor time: whoever records a quote can buy with it, and read for ever' +
    (isLimited ? '; quotes, sources and a cap limit it.' : '.');
  const alone = schemes === 'md5' ? 'It takes MD5 alone, so no events, webhooks or deposits. ' : 'It takes MD5 too. ';
  const todo = `\`project options ${id} --signatures hmac\` as soon as its callers sign so.`;
  return look('signatures', alone + means, todo);
}

function keysOf(project: ProjectView, keys: readonly KeyView[], nowMs: number): ProjectFinding[] {
  const findings = keys.map((key) => keyOf(project, key, nowMs));
  if (keys.some(({ scopes }) => scopes.includes('order'))) return findings;
  const todo = `\`keys create ${project.id} --name shop --scope read quote order\`.`;
  return [...findings, missing('keys', 'No key may buy.', todo)];
}

function keyOf(project: ProjectView, key: KeyView, nowMs: number): ProjectFinding {
  const check = `key ${key.is_primary ? 'primary' : key.name}`;
  const days = (at: Date): number => Math.floor((nowMs - at.getTime()) / DAY_MS);
  // A caller must be on both lists, if both exist.
  const lists = [key.allowed_sources, project.allowed_sources].filter((list) => list.length > 0);
  const used = key.last_used_at === null ? 'never used' : `last used ${agoText(days(key.last_used_at))}`;
  const says = [
    `May ${key.scopes.join(', ')}`,
    key.daily_cap_credits === null ? 'no cap' : `cap ${creditsText(key.daily_cap_credits)}`,
    lists.length === 0
      ? 'from anywhere'
      : `from ${lists.map((list) => list.join(', ')).join(', if the project may be called from there: ')}`,
    used,
    `made ${agoText(days(key.created_at))}`,
  ];
  const facts = `${says.join('; ')}.`;
  const options = `keys options ${key.id}`;
  const rotate = key.is_primary ? `project rotate-key ${project.id}` : `keys rotate ${key.id}`;
  const isBounded = key.daily_cap_credits !== null || project.daily_cap_credits !== null || lists.length > 0;
  if (key.scopes.includes('order') && !isBounded) {
    const todo = `Limit what a thief could spend: \`${options} --daily-cap N\`, or \`--allow-source ADDRESS\`.`;
    return look(check, facts, todo);
  }
  if (key.last_used_at === null) return look(check, facts, 'Have a request signed with it, or revoke it.');
  if (days(key.last_used_at) > UNUSED_DAYS) return look(check, facts, `\`keys revoke ${key.id}\` if nobody needs it.`);
  if (days(key.created_at) > OLD_DAYS) return look(check, facts, `\`${rotate} --overlap 3600\`: it is old.`);
  return fine(check, facts);
}

function idempotencyOf({ id, require_idempotency_key: isDemanded }: ProjectView, read: OrdersLook): ProjectFinding {
  const { orders, without_key: made } = read;
  if (isDemanded) return fine('idempotency', 'Every purchase must have an Idempotency-Key.');
  const todo = `\`project options ${id} --require-idempotency-key on\`.`;
  if (orders === 0)
    return missing('idempotency', 'An Idempotency-Key is not demanded, and nothing was bought yet.', todo);
  if (made === 0) {
    return look('idempotency', `Not demanded, though all ${orders.toString()} orders of ${DAYS} had a key.`, todo);
  }
  const says = `${made.toString()} of ${orders.toString()} orders of ${DAYS} had no key of their own: after a lost answer they cannot be repeated.`;
  return missing('idempotency', says, `Have the merchant send one, then ${todo}`);
}

function webhooksOf(
  { id }: ProjectView,
  webhooks: readonly WebhookView[],
  successes: ReadonlyMap<string, Date>,
): ProjectFinding[] {
  if (webhooks.length > 0) return webhooks.map((webhook) => webhookOf(webhook, successes.get(webhook.id)));
  const says = 'There is none: events must be read from the log.';
  return [look('webhooks', says, `\`webhooks create ${id} --url https://…\`, unless the merchant reads the log.`)];
}

function webhookOf(webhook: WebhookView, success: Date | undefined): ProjectFinding {
  const { id, url, disabled_reason: disabled, failing_since: failingSince } = webhook;
  const check = `webhook ${new URL(url).host}`;
  if (disabled === 'owner') {
    return look(
      check,
      'It is disabled by its owner.',
      `\`webhooks change ${id} --enabled on\`, or \`webhooks delete ${id}\`.`,
    );
  }
  if (disabled !== null) {
    const why = disabled === 'gone' ? 'it answered 410' : 'it took nothing for days';
    const todo = `Mend the receiver, then \`webhooks change ${id} --enabled on\` and \`webhooks replay ${id} --after POSITION\`.`;
    return missing(check, `It was disabled: ${why}.`, todo);
  }
  if (failingSince !== null) {
    const says = `It has taken nothing since ${momentText(failingSince)}; ${pendingText(webhook)} wait.`;
    return missing(check, says, `\`webhooks deliveries ${id} --status pending\` shows what it answers.`);
  }
  if (success === undefined) return missing(check, `It took nothing in ${DAYS}.`, `\`webhooks test ${id}\`.`);
  return fine(check, `It took an event at ${momentText(success)}.`);
}

function eventsOf({ id }: ProjectView, { position, delivered_at: at }: EventsLook): ProjectFinding {
  if (at !== null)
    return fine('events', `A webhook took one at ${momentText(at)}; the log is at ${position.toString()}.`);
  const says = `No webhook took one in ${DAYS}; the log is at ${position.toString()}. Whether it is read leaves no record.`;
  const todo = `Ask which position the merchant keeps, or \`webhooks create ${id} --url https://…\`.`;
  return look('events', says, todo);
}

function depositsOf({ id }: ProjectView, { deposit_address: address, deposits }: MoneyLook): ProjectFinding {
  const topUp = `\`credits topup ${id} N --ref …\``;
  if (address === null) return look('deposits', 'There is no address to pay to.', `Credits come by ${topUp}.`);
  if (deposits === 0)
    return look('deposits', `Nothing was paid to ${address} yet.`, 'Have a small amount paid and credited first.');
  return fine('deposits', `${deposits.toString()} were credited; pay to ${address}.`);
}

function balanceOf(
  { id, balance_credits: balance, floor_credits: floor }: ProjectView,
  read: MoneyLook,
): ProjectFinding {
  const check = 'balance';
  if (floor === null) return fine(check, `${creditsText(balance)}, postpaid without a limit.`);
  const available = balance - floor;
  const todo = `\`credits topup ${id} N --ref …\`, or have a deposit paid.`;
  if (available <= 0n) return missing(check, `${creditsText(balance)}: nothing may be spent.`, todo);
  if (read.spent_credits <= 0n) return fine(check, `${creditsText(balance)}; nothing was spent in ${DAYS}.`);
  const perDay = Number(read.spent_credits) / read.days;
  const days = Number(available) / perDay;
  const says = `${creditsText(balance)}: ${days < 1 ? 'less than a day' : daysText(Math.floor(days))} at what was spent in ${DAYS}.`;
  if (days < DAYS_LEFT_MISSING) return missing(check, says, todo);
  return days < DAYS_LEFT_LOOK ? look(check, says, todo) : fine(check, says);
}

function lowBalanceOf(project: ProjectView): ProjectFinding {
  const { id, low_balance_credits: threshold, balance_credits: balance } = project;
  if (threshold === null) {
    if (project.floor_credits === null) return fine('low balance', 'No threshold, and no limit to come near to.');
    const todo = `\`project options ${id} --low-balance N\`: some days' worth.`;
    return missing('low balance', 'No threshold: no event comes before the credits are used up.', todo);
  }
  if (balance >= threshold) return fine('low balance', `The event comes below ${creditsText(threshold)}.`);
  const todo = `\`credits topup ${id} N --ref …\`; the next event comes after it has been as high.`;
  return look('low balance', `The balance is below the threshold of ${creditsText(threshold)}.`, todo);
}

function capOf(project: ProjectView, keys: readonly KeyView[], read: MoneyLook): ProjectFinding {
  const { id, daily_cap_credits: cap } = project;
  const todo = `\`project options ${id} --daily-cap N\`: well above an ordinary day.`;
  if (cap === null) {
    const buying = keys.filter(({ scopes }) => scopes.includes('order'));
    if (buying.length > 0 && buying.every((key) => key.daily_cap_credits !== null)) {
      return fine('spend cap', 'Each key that may buy has a daily cap.');
    }
    if (project.floor_credits === null) return missing('spend cap', 'No daily cap, and no limit of the balance.', todo);
    return look('spend cap', 'No daily cap: the balance alone limits what a mistake can cost.', todo);
  }
  const spent = read.spent_today_credits;
  const says = `${creditsText(cap)} a day, of which ${creditsText(spent)} today.`;
  return spent * 100n >= cap * NEAR_PERCENT ? look('spend cap', says, todo) : fine('spend cap', says);
}

function requestsOf({ id }: ProjectView, { refusals, orders: { orders } }: ProjectLook): ProjectFinding {
  const all = refusals.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return fine('requests', `None was refused with 400 or 401 in ${DAYS}.`);
  const shares = refusals.map((each) => shareText(each, all)).join(' ');
  const says = `${all.toString()} were refused in ${DAYS}, beside ${orders.toString()} orders. ${shares}`;
  const todo = `\`project requests ${id}\` lists them.`;
  return all >= REFUSALS_MANY && all > orders ? missing('requests', says, todo) : look('requests', says, todo);
}

function shareText({ status, error, count, reason }: RefusalLook, all: number): string {
  return `${Math.round((count / all) * 100).toString()} % ${status.toString()} ${error}, mostly: ${reason.replace(/\.$/, '')}.`;
}

function retriesOf({ id }: ProjectView, { orders: { twins }, refusals }: ProjectLook): ProjectFinding {
  if (twins > 0) {
    const says = `${twins.toString()} orders without a key of their own came within a minute of one alike: if these were retries, each was charged.`;
    return missing(
      'retries',
      says,
      `Have retries use the same key; \`project options ${id} --require-idempotency-key on\`.`,
    );
  }
  const replayed = refusals.find(({ error }) => error === 'SIGNATURE_REPLAYED')?.count ?? 0;
  if (replayed > 0) {
    const says = `${replayed.toString()} requests came again with the same nonce.`;
    return look('retries', says, 'Have every attempt signed anew, with the same Idempotency-Key (docs/retries.md).');
  }
  return fine('retries', 'None went wrong; one with the same key leaves no record.');
}

const creditsText = (credits: Credits): string =>
  `${credits.toString().replaceAll(/\B(?=(\d{3})+$)/g, ' ')} credits ($${usdBalanceOf(credits)})`;
const daysText = (days: number): string => (days === 1 ? '1 day' : `${days.toString()} days`);
const agoText = (days: number): string => (days <= 0 ? 'today' : `${daysText(days)} ago`);
const momentText = (at: Date): string =>
  at
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
