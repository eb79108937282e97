/** Kinds of acts: the part of an action before its dot. */
export const ACT_KINDS = [
  'auto-delegation',
  'console',
  'credits',
  'deposits',
  'key',
  'keys',
  'notifications',
  'orders',
  'pool',
  'price',
  'project',
  'team',
  'verify',
  'webhook',
] as const;
export type ActKind = (typeof ACT_KINDS)[number];
