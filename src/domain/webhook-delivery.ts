/** The states and causes of one delivery of an event to an endpoint. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dropped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The cause of a delivery: a new event, a repeated range of events, one repeated event, or a test event. */
export const DELIVERY_CAUSES = ['event', 'replay', 'resend', 'test'] as const;
export type DeliveryCause = (typeof DELIVERY_CAUSES)[number];
