// Rights of both consoles on people and their sessions.
import type { Access } from './grant-columns.js';

/** People and their sessions; row-level security limits a merchants' console to its own audience. */
export const CONSOLE_PERSONS: Access = {
  select: 'all',
  insert: 'all',
  update: { but: ['id', 'audience', 'email', 'created_at'] },
};
export const CONSOLE_MEMBERSHIPS: Access = { select: 'all', insert: 'all', update: { only: ['role'] }, delete: 'all' };
export const CONSOLE_INVITATIONS: Access = {
  select: 'all',
  insert: 'all',
  update: { only: ['accepted_at', 'revoked_at'] },
};
/** Addresses that take no mails any more; kept for good. */
export const CONSOLE_MAIL_REFUSALS: Access = { select: 'all', insert: 'all' };
export const CONSOLE_NOTIFICATIONS: Access = {
  select: 'all',
  insert: { only: ['membership_id', 'audience', 'kinds', 'position'] },
  update: { but: ['membership_id', 'audience'] },
};
export const CONSOLE_SESSIONS: Access = {
  select: 'all',
  insert: 'all',
  update: { but: ['id', 'audience', 'person_id', 'created_at', 'source_address', 'user_agent'] },
  delete: 'all',
};
