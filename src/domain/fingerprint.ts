import { createHash } from 'node:crypto';

/** Returns the id of a disagreement, from its check, its subject, and the facts that distinguish it on that subject. */
export function fingerprintOf(check: string, subject: string, identity: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([check, subject, identity]))
    .digest('hex')
    .slice(0, 16);
}
