// Where events are sent, and every delivery. Changes have no key: they are repeated only where they were surely not taken.
import type * as Api from './api-types.js';
import type { CallOptions } from './deadline.js';
import { numberText } from './json-body.js';
import { Listing, type PageSize } from './listing.js';
import type { WebhookEvent, Webhook, WebhookDelivery, WebhookWithSecret } from './model.js';
import type { Transport } from './transport.js';
import { verifyWebhook, type VerifyOptions, type WebhookHeaders } from './verify-webhook.js';

export class Webhooks {
  constructor(private readonly transport: Transport) {}

  /**
   * Makes a webhook; its `secret` is answered this once.
   *
   * Throws ApiError: ADDRESS_NOT_ALLOWED (400), LIMIT_REACHED (409); UnknownOutcomeError without a key.
   */
  async create(request: Api.WebhookRequest, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.change('', request, options);
  }

  async list(options?: CallOptions): Promise<readonly Webhook[]> {
    const call = { method: 'GET', path: '/v1/webhooks', kind: 'read' } as const;
    return (await this.transport.send<Api.WebhookList>(call, options)).body.items;
  }

  /** Throws ApiError NOT_FOUND (404), as everything below. */
  async get(id: string, options?: CallOptions): Promise<Webhook> {
    return (await this.transport.send<Webhook>({ method: 'GET', path: pathOf(id), kind: 'read' }, options)).body;
  }

  /** Changes what is named; `enabled: true` starts one that was disabled. */
  async update(id: string, request: Api.WebhookChangeRequest, options?: CallOptions): Promise<Webhook> {
    const call = { method: 'POST', path: pathOf(id), body: request, kind: 'setting' } as const;
    return (await this.transport.send<Webhook>(call, options)).body;
  }

  /** Nothing is sent any more, also nothing that waits. */
  async delete(id: string, options?: CallOptions): Promise<Api.WebhookDeleted> {
    const call = { method: 'DELETE', path: pathOf(id), kind: 'change' } as const;
    return (await this.transport.send<Api.WebhookDeleted>(call, options)).body;
  }

  /** A new secret; the old one signs too for `expire_old_after_sec` (0 to 86 400, 86 400 unless said). */
  async rotate(id: string, request: Api.WebhookRotateRequest = {}, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.change(`/${part(id)}/rotate`, request, options);
  }

  /** Sends an event of the type `webhook.test`, once. */
  async test(id: string, options?: CallOptions): Promise<WebhookDelivery> {
    return this.change(`/${part(id)}/test`, undefined, options);
  }

  /** Sends the events after a position again, at most 10 000; one replay at a time (409 LIMIT_REACHED). */
  async replay(id: string, request: Api.WebhookReplayRequest, options?: CallOptions): Promise<Api.WebhookReplay> {
    return this.change(`/${part(id)}/replay`, request, options);
  }

  /** Deliveries, newest first. */
  deliveries(
    id: string,
    query: PageSize & { readonly status?: WebhookDelivery['status'] | undefined } = {},
    options?: CallOptions,
  ): Listing<WebhookDelivery> {
    return new Listing(this.transport, `${pathOf(id)}/deliveries`, { ...query }, options);
  }

  /** Sends a delivery now if it waits, else as a new one. */
  async resend(id: string, delivery: number, options?: CallOptions): Promise<WebhookDelivery> {
    return this.change(`/${part(id)}/deliveries/${numberText('delivery', delivery)}/resend`, undefined, options);
  }

  /** As `verifyWebhook`, which needs no client. */
  verify(
    body: string | Uint8Array,
    headers: WebhookHeaders,
    secrets: string | readonly string[],
    options?: VerifyOptions,
  ): WebhookEvent {
    return verifyWebhook(body, headers, secrets, options);
  }

  private async change<T>(path: string, body: object | undefined, options?: CallOptions): Promise<T> {
    const call = { method: 'POST', path: `/v1/webhooks${path}`, kind: 'change' } as const;
    return (await this.transport.send<T>(body === undefined ? call : { ...call, body }, options)).body;
  }
}

const part = (id: string): string => encodeURIComponent(id);
const pathOf = (id: string): string => `/v1/webhooks/${part(id)}`;
