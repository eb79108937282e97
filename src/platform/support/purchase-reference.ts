/**
 * The reference that an order or extension stores of the request that made it: its request id, `~` and random
 * characters. A caller chooses its request id, may repeat it, and cannot send `~`. So no other request has the same
 * reference, and none imitates that of a purchase by the service itself.
 */
import { randomBytes } from 'node:crypto';

const MARK = '~';
/** Twelve characters. */
const RANDOM_BYTES = 9;

/** Returns a new reference of a request. */
export function newPurchaseReference(requestId: string): string {
  return `${requestId}${MARK}${randomBytes(RANDOM_BYTES).toString('base64url')}`;
}

/** Returns the request id in a stored reference, as the caller knows it; undefined without a reference. */
export function requestIdIn(reference: string | null): string | undefined {
  return reference?.split(MARK, 1)[0];
}
