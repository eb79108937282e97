/**
 * Pages where people choose their notifications, for the links in mails. In a merchants' console, below the project's
 * path.
 */
import type { Audience } from '../../domain/audience.js';

export const NOTIFICATIONS_PATH: Readonly<Record<Audience, string>> = {
  merchant: '/settings/notifications',
  operator: '/notifications',
};
