// Webhooks and their deliveries. Changes carry no idempotency key: except for `update`, they are retried only if the
// service cannot have executed them.
import type * as Api from './api-types.js';
import { hasMember, isList } from './answers.js';
import type { CallOptions } from './deadline.js';
import { numberText } from './json-body.js';
import { Listing, type PageSize } from './listing.js';
import type { WebhookEvent, Webhook, WebhookDelivery, WebhookWithSecret } from './model.js';
import { requireMembers, segment } from './required.js';
import type { Transport } from './transport.js';
import { verifyWebhook, type VerifyOptions, type WebhookHeaders } from './verify-webhook.js';

export class Webhooks {
  constructor(private readonly transport: Transport) {}

  /**
   * Creates a webhook. Only this answer and that of `rotate` contain a `secret`.
   *
   * Throws ApiError: ADDRESS_NOT_ALLOWED (400), LIMIT_REACHED (409); UnknownOutcomeError without a key.
   */
  async create(request: Api.WebhookRequest, options?: CallOptions): Promise<WebhookWithSecret> {
    requireMembers(request, ['url']);
    return this.change('', request, options);
  }

  async list(options?: CallOptions): Promise<readonly Webhook[]> {
    const call = { method: 'GET', path: '/v1/webhooks', kind: 'read', isAnswer: isList } as const;
    return (await this.transport.send<Api.WebhookList>(call, options)).body.items;
  }

  /** Returns one webhook. Throws ApiError NOT_FOUND (404), as do all methods with an `id`. */
  async get(id: string, options?: CallOptions): Promise<Webhook> {
    const call = { method: 'GET', path: pathOf(id), kind: 'read', isAnswer: hasMember('id') } as const;
    return (await this.transport.send<Webhook>(call, options)).body;
  }

  /** Changes the given members. `enabled: true` re-enables a disabled webhook. */
  async update(id: string, request: Api.WebhookChangeRequest, options?: CallOptions): Promise<Webhook> {
    const call = {
      method: 'POST',
      path: pathOf(id),
      body: request,
      kind: 'setting',
      isAnswer: hasMember('id'),
    } as const;
    return (await this.transport.send<Webhook>(call, options)).body;
  }

  /** Deletes the webhook. Pending deliveries are not sent. */
  async delete(id: string, options?: CallOptions): Promise<Api.WebhookDeleted> {
    const call = { method: 'DELETE', path: pathOf(id), kind: 'change', isAnswer: hasMember('id') } as const;
    return (await this.transport.send<Api.WebhookDeleted>(call, options)).body;
  }

  /**
   * Replaces the secret. The old one keeps signing too for `expire_old_after_sec` (0 to 86 400, default 86 400). Until
   * then another rotation is 409 LIMIT_REACHED, except with 0, which ends both secrets immediately.
   */
  async rotate(id: string, request: Api.WebhookRotateRequest = {}, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.change(`/${part(id)}/rotate`, request, options);
  }

  /** Sends one `webhook.test` event. */
  async test(id: string, options?: CallOptions): Promise<WebhookDelivery> {
    return this.change(`/${part(id)}/test`, undefined, options);
  }

  /** Sends the events after a position again, at most 10 000. Only one replay may run at a time (409 LIMIT_REACHED). */
  async replay(id: string, request: Api.WebhookReplayRequest, options?: CallOptions): Promise<Api.WebhookReplay> {
    requireMembers(request, ['after']);
    return this.change(`/${part(id)}/replay`, request, options, 'last_position');
  }

  /** Lists the deliveries, newest first. */
  deliveries(
    id: string,
    query: PageSize & { readonly status?: WebhookDelivery['status'] | undefined } = {},
    options?: CallOptions,
  ): Listing<WebhookDelivery> {
    return new Listing(this.transport, `${pathOf(id)}/deliveries`, { ...query }, options);
  }

  /** Sends a pending delivery now, or repeats a finished one as a new delivery. */
  async resend(id: string, delivery: number, options?: CallOptions): Promise<WebhookDelivery> {
    return this.change(`/${part(id)}/deliveries/${numberText('delivery', delivery)}/resend`, undefined, options);
  }

  /** Same as `verifyWebhook`, which needs no client. */
  verify(
    body: string | Uint8Array,
    headers: WebhookHeaders,
    secrets: string | readonly string[],
    options?: VerifyOptions,
  ): WebhookEvent {
    return verifyWebhook(body, headers, secrets, options);
  }

  private async change<T>(path: string, body?: object, options?: CallOptions, member = 'id'): Promise<T> {
    const isAnswer = hasMember(member);
    const call = { method: 'POST', path: `/v1/webhooks${path}`, kind: 'change', isAnswer } as const;
    return (await this.transport.send<T>(body === undefined ? call : { ...call, body }, options)).body;
  }
}

const part = (id: string): string => segment('id', id);
const pathOf = (id: string): string => `/v1/webhooks/${part(id)}`;
