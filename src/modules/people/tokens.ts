/** Tokens of sessions and invitations: random, given out once, and stored only as hashes. */
import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');
export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();
