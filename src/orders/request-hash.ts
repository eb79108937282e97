/** What makes two requests the same: the endpoint and the terms, whatever the order of members or explicit defaults. */
import { createHash } from 'node:crypto';
import type { Energy } from '../domain/units.js';

/** What an order or an extension was asked for, after its defaults. */
export type RequestTerms =
  | { readonly kind: 'quoted'; readonly ref: string }
  | {
      readonly kind: 'direct';
      readonly receiveAddress: string;
      readonly energy: Energy | undefined;
      readonly durationSec: number;
    }
  | { readonly kind: 'activation'; readonly receiveAddress: string }
  | { readonly kind: 'extension'; readonly orderKey: string; readonly durationSec: number };

/**
 * 32 bytes, over the quote's ref alone, or address, energy or its absence, and duration, or the order that is extended and
 * by how much (docs/interface.md §10).
 */
export function requestHash(terms: RequestTerms): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(membersOf(terms)))
    .digest();
}

function membersOf(terms: RequestTerms): readonly (string | number | null)[] {
  switch (terms.kind) {
    case 'quoted':
      return ['orders', 'quoted', terms.ref];
    case 'direct':
      return ['orders', 'direct', terms.receiveAddress, terms.energy?.toString() ?? null, terms.durationSec];
    case 'activation':
      return ['activate', terms.receiveAddress];
    case 'extension':
      return ['extensions', terms.orderKey, terms.durationSec];
  }
}
