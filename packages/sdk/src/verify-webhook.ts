// Verification of webhooks (docs/interface.md §27): Standard Webhooks 1.0.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookVerificationError } from './errors.js';
import type { WebhookEvent } from './model.js';
import { requireValue } from './required.js';

/** Headers of a fetch-style request, or Node's `request.headers`. */
export type WebhookHeaders =
  { readonly get: (name: string) => string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /**
   * Maximum difference, in either direction, between `webhook-timestamp` and this machine's clock, in seconds. Default:
   * 300.
   */
  readonly toleranceSec?: number | undefined;
}

const TOLERANCE_SEC = 300;
const PREFIX = 'whsec_';
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const TIMESTAMP = /^\d{1,12}$/;

/**
 * Returns the event of a webhook if one of `secrets` signed these exact bytes and the timestamp is within the
 * tolerance. Pass the raw, unparsed `body`. While you rotate a secret, pass both.
 *
 * Events arrive at least once: store the `event.id` of each event that you have processed. Throws
 * WebhookVerificationError; throws TypeError for a malformed secret.
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSec = TOLERANCE_SEC }: VerifyOptions = {},
): WebhookEvent {
  requireValue('the body', body);
  const keys = [secrets].flat().map(keyOf);
  if (keys.length === 0) throw new TypeError('verifyWebhook requires a secret');
  const id = header(headers, 'webhook-id', ID);
  const timestamp = header(headers, 'webhook-timestamp', TIMESTAMP);
  const signatures = header(headers, 'webhook-signature', /^\S/).split(' ');
  // Negated, so that a tolerance of NaN refuses every webhook.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSec)) {
    throw new WebhookVerificationError('timestamp', `webhook-timestamp is more than ${toleranceSec.toString()} s off`);
  }
  const isSigned = keys.some((key) => {
    const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
    return signatures.some((each) => isSame(each, wanted));
  });
  if (!isSigned) throw new WebhookVerificationError('signature', 'webhook-signature matches none of the secrets');
  return eventOf(body, id);
}

function keyOf(secret: string): Buffer {
  requireValue('the webhook secret', secret);
  const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.alloc(0);
  if (key.length === 0) throw new TypeError(`a webhook secret must begin with ${PREFIX}`);
  return key;
}

function header(headers: WebhookHeaders, name: string, form: RegExp): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : namedAnyhow(headers, name);
  if (typeof value !== 'string' || !form.test(value)) {
    throw new WebhookVerificationError('headers', `${name} is missing or malformed`);
  }
  return value;
}

/** Returns the only header of that name, in any case; undefined if there is none or more than one. */
function namedAnyhow(headers: object, name: string): unknown {
  const values = Object.entries(headers).filter(([each]) => each.toLowerCase() === name);
  return values.length === 1 ? [values[0]?.[1]].flat().join('\n') : undefined;
}

function isSame(signature: string, wanted: Buffer): boolean {
  const given = signature.startsWith('v1,') ? Buffer.from(signature.slice(3), 'base64') : Buffer.alloc(0);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function eventOf(body: string | Uint8Array, id: string): WebhookEvent {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    event = undefined;
  }
  // A `webhook.test` has an id too, but no position.
  if (typeof event !== 'object' || event === null || !('type' in event) || !('id' in event) || event.id !== id) {
    throw new WebhookVerificationError('body', 'the body is not an event with that webhook-id');
  }
  return event as WebhookEvent;
}
