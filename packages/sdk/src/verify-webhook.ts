// Whether a request is a webhook of the service (docs/interface.md §27): Standard Webhooks 1.0.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookVerificationError } from './errors.js';
import type { WebhookEvent } from './model.js';

/** Of a fetch-style request, or of Node's `request.headers`. */
export type WebhookHeaders =
  { readonly get: (name: string) => string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from this machine's clock, either way, in seconds: 300 unless said. */
  readonly toleranceSec?: number | undefined;
}

const TOLERANCE_SEC = 300;
const PREFIX = 'whsec_';
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const TIMESTAMP = /^\d{1,12}$/;

/**
 * The event of a webhook: signed by one of `secrets` over these very bytes, and not older or newer than the tolerance.
 * `body` is what came, unparsed. While a secret is being changed, give both.
 *
 * Events come at least once: keep the ids (`event.id`) that you have worked on. Throws WebhookVerificationError;
 * TypeError for a secret that is none.
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSec = TOLERANCE_SEC }: VerifyOptions = {},
): WebhookEvent {
  const keys = [secrets].flat().map(keyOf);
  if (keys.length === 0) throw new TypeError('verifyWebhook needs a secret');
  const id = header(headers, 'webhook-id', ID);
  const timestamp = header(headers, 'webhook-timestamp', TIMESTAMP);
  const signatures = header(headers, 'webhook-signature', /^\S/).split(' ');
  // Written so that a tolerance that is no number refuses everything.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSec)) {
    throw new WebhookVerificationError('timestamp', `webhook-timestamp is more than ${toleranceSec.toString()} s off`);
  }
  const isSigned = keys.some((key) => {
    const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
    return signatures.some((each) => isSame(each, wanted));
  });
  if (!isSigned) throw new WebhookVerificationError('signature', 'webhook-signature is by none of the secrets');
  return eventOf(body, id);
}

function keyOf(secret: string): Buffer {
  const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.alloc(0);
  if (key.length === 0) throw new TypeError(`the secret of a webhook begins with ${PREFIX}`);
  return key;
}

function header(headers: WebhookHeaders, name: string, form: RegExp): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : namedAnyhow(headers, name);
  if (typeof value !== 'string' || !form.test(value)) {
    throw new WebhookVerificationError('headers', `${name} is missing or malformed`);
  }
  return value;
}

/** The one header of that name in any case; undefined when there is none, or more than one. */
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
  // A `webhook.test` has an id too, and no position.
  if (typeof event !== 'object' || event === null || !('type' in event) || !('id' in event) || event.id !== id) {
    throw new WebhookVerificationError('body', 'the body is no event of that webhook-id');
  }
  return event as WebhookEvent;
}
