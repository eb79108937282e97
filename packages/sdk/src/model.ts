// The request and response types under the names of this package; all derive from the OpenAPI description.
import type * as Api from './api-types.js';

export type ErrorCode = Api.Error['error'];
export type Order = Api.Order;
export type OrderStatus = Order['status'];
export type Quote = Api.Quote;
export type Simulation = Api.Simulation;
export type Explanation = Api.Explanation;
export type Balance = Api.Balance;
/** The durations and prices on sale, and the energy available now. */
export type Limits = Api.Limits;
export type DepositAddress = Api.DepositAddress;
export type Deposit = Api.DepositPage['items'][number];
export type AutoDelegation = Api.AutoDelegation;
/** An auto-delegation with its cost at current prices. */
export type PricedAutoDelegation = Api.PricedAutoDelegation;
export type LedgerEntry = Api.LedgerPage['items'][number];
export type Statement = Api.Statement;
export type RefusedRequest = Api.RefusedRequestPage['items'][number];
export type Webhook = Api.Webhook;
/** A webhook with the secret that signs its deliveries. The service shows the secret only in this answer. */
export type WebhookWithSecret = Webhook & { readonly secret: string };
export type WebhookDelivery = Api.WebhookDelivery;
export type EventType = Api.EventPage['items'][number]['type'];

/** An event of the log. Future versions add types: ignore unknown ones. */
export type EnergyEvent = Omit<Api.EventPage['items'][number], 'type'> & {
  readonly type: EventType | (string & {});
};

/** The event in a webhook: an event of the log, or a `webhook.test`, which has no position. */
export type WebhookEvent = Omit<EnergyEvent, 'position'> & { readonly position?: number };

/** Events in order, and the position to continue after. The position also covers events that `types` filtered out. */
export interface EventPage {
  readonly items: readonly EnergyEvent[];
  readonly last_position: number;
}
