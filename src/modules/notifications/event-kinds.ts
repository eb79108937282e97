/** The event types of each kind of notification. */
import type { ProjectNotification } from '../../domain/notification-kinds.js';
import type { EventType } from '../../domain/event-types.js';

export const EVENTS_OF = {
  balance: ['balance.low'],
  deposits: ['deposit.credited', 'deposit.held'],
  orders: ['order.unresolved', 'order.refunded'],
  auto_delegations: ['auto_delegation.paused'],
  webhooks: ['webhook.failing', 'webhook.disabled'],
  keys: ['key.created', 'key.rotated', 'key.revoked'],
  project: ['project.frozen', 'project.unfrozen'],
  statements: ['statement.ready'],
} as const satisfies Readonly<Record<ProjectNotification, readonly EventType[]>>;

export type NotifiedEvent = (typeof EVENTS_OF)[ProjectNotification][number];

const isProjectKind = (kind: string): kind is ProjectNotification => kind in EVENTS_OF;

/** Returns the event types that a person with these choices is notified of. */
export function typesOf(kinds: readonly string[]): NotifiedEvent[] {
  return kinds.flatMap((kind) => (isProjectKind(kind) ? EVENTS_OF[kind] : []));
}
