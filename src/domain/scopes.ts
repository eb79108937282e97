/** What an API key may be allowed to do. */
export const SCOPES = ['read', 'quote', 'order', 'manage'] as const;
export type Scope = (typeof SCOPES)[number];

/** How many keys of a project verify at once; each may have a secret before its own while it is rotated. */
export const KEYS_MAX = 10;

/** How many keys beside its primary a project may make within 24 hours: revoked ones are kept for ever. */
export const KEYS_PER_DAY = 100;

/** By which signatures a project may be called. */
export const SIGNATURE_SCHEMES = ['md5', 'hmac', 'either'] as const;
export type SignatureSchemes = (typeof SIGNATURE_SCHEMES)[number];
