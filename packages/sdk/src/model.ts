// What the calls take and answer, by the names of this package; all of it comes from the description of the interface.
import type * as Api from './api-types.js';

export type ErrorCode = Api.Error['error'];
export type Order = Api.Order;
export type OrderStatus = Order['status'];
export type Quote = Api.Quote;
export type Simulation = Api.Simulation;
export type Balance = Api.Balance;
/** What is on sale, and how much of it just now. */
export type Limits = Api.Limits;
export type DepositAddress = Api.DepositAddress;
export type Deposit = Api.DepositPage['items'][number];
export type AutoDelegation = Api.AutoDelegation;
/** With what it costs, as prices are now. */
export type PricedAutoDelegation = Api.PricedAutoDelegation;
export type LedgerEntry = Api.LedgerPage['items'][number];
export type Statement = Api.Statement;
export type RefusedRequest = Api.RefusedRequestPage['items'][number];
export type Webhook = Api.Webhook;
/** With the secret of its signatures, which is shown this once. */
export type WebhookWithSecret = Webhook & { readonly secret: string };
export type WebhookDelivery = Api.WebhookDelivery;
export type EventType = Api.EventPage['items'][number]['type'];

/** A line of the log of events. Types will be added: pass over those that you do not know. */
export type EnergyEvent = Omit<Api.EventPage['items'][number], 'type'> & {
  readonly type: EventType | (string & {});
};

/** What a webhook brings: an event, or a `webhook.test`, which has no place in the log. */
export type WebhookEvent = Omit<EnergyEvent, 'position'> & { readonly position?: number };

/** Some events in order, and the position to go on after, which passes what `types` left out. */
export interface EventPage {
  readonly items: readonly EnergyEvent[];
  readonly last_position: number;
}
