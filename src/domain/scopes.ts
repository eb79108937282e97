/** The permissions of API keys. */
export const SCOPES = ['read', 'quote', 'order', 'manage'] as const;
export type Scope = (typeof SCOPES)[number];

/** Maximum of valid keys of a project. Each may also have a previous secret during rotation. */
export const KEYS_MAX = 10;

/** Maximum of non-primary keys that a project may create within 24 hours. Revoked keys are kept for ever. */
export const KEYS_PER_DAY = 100;

/** The signature schemes that a project may accept. */
export const SIGNATURE_SCHEMES = ['md5', 'hmac', 'either'] as const;
export type SignatureSchemes = (typeof SIGNATURE_SCHEMES)[number];
