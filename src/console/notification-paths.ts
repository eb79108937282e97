/** Where people choose what they are notified of; a mail says so. In a merchants' console, below the project's own path. */
import type { Audience } from '../domain/audience.js';

export const NOTIFICATIONS_PATH: Readonly<Record<Audience, string>> = {
  merchant: '/settings/notifications',
  operator: '/notifications',
};
