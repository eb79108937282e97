export { Account } from './account.js';
export type * as Api from './api-types.js';
export type { Answer } from './attempt.js';
export { EnergyClient, type ClientSettings, type RawRequest } from './client.js';
export type { CallOptions } from './deadline.js';
export { AutoDelegations } from './auto-delegations.js';
export {
  ApiError,
  EnergyError,
  NetworkError,
  NotDeliveredError,
  UnknownOutcomeError,
  WebhookVerificationError,
} from './errors.js';
export { EventStream, type StreamOptions } from './event-stream.js';
export { Events, type EventQuery } from './events.js';
export { feeLimitOf, type FeeLimitOption, type WithFeeLimit } from './fee-limit.js';
export { Listing, type Page, type PageSize } from './listing.js';
export type {
  AutoDelegation,
  Balance,
  Deposit,
  DepositAddress,
  EnergyEvent,
  ErrorCode,
  EventPage,
  EventType,
  Explanation,
  LedgerEntry,
  Limits,
  Order,
  OrderStatus,
  PricedAutoDelegation,
  Quote,
  RefusedRequest,
  Simulation,
  Statement,
  Webhook,
  WebhookDelivery,
  WebhookEvent,
  WebhookWithSecret,
} from './model.js';
export { Orders, type OrderOptions, type OrderQuery, type PurchaseOptions, type WaitOptions } from './orders.js';
export { Quotes } from './quotes.js';
export { verifyWebhook, type VerifyOptions, type WebhookHeaders } from './verify-webhook.js';
export { Webhooks } from './webhooks.js';
