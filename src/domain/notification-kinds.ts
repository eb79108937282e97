/** The kinds of e-mail notifications: by topic for a project's events, by severity for operators. */

export const PROJECT_NOTIFICATIONS = [
  'balance',
  'deposits',
  'orders',
  'auto_delegations',
  'webhooks',
  'keys',
  'project',
  'statements',
] as const;
export type ProjectNotification = (typeof PROJECT_NOTIFICATIONS)[number];

/** The severities of the operators' inbox. */
export const OPERATOR_NOTIFICATIONS = ['fault', 'warning', 'notice'] as const;
export type OperatorNotification = (typeof OPERATOR_NOTIFICATIONS)[number];

export type NotificationKind = ProjectNotification | OperatorNotification;
