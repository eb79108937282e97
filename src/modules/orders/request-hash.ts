/** Defines when two requests are the same: same endpoint and terms, regardless of member order or explicit defaults. */
import { createHash } from 'node:crypto';
import type { Energy } from '../../domain/units.js';
import type { TokenTransfer } from '../quotes/transfer-sizing.js';

/** A purchase and its receiver. Without `energy` the receiver's state determines the amount. */
export interface DirectRequest {
  readonly receiveAddress: string;
  readonly energy: Energy | undefined;
  readonly durationSec: number;
  /** Sizes the order if `energy` is absent. */
  readonly transfer?: TokenTransfer | undefined;
  /** Once if absent. */
  readonly expectedUses?: number | undefined;
  /** Units of bandwidth beside the energy. */
  readonly bandwidth?: bigint | undefined;
  /** True to activate the receiver first. */
  readonly activate?: boolean | undefined;
}

/** The requested terms of an order or extension, with defaults applied. */
export type RequestTerms =
  | { readonly kind: 'quoted'; readonly ref: string }
  | ({ readonly kind: 'direct' } & DirectRequest)
  | { readonly kind: 'activation'; readonly receiveAddress: string }
  | {
      readonly kind: 'extension';
      readonly orderKey: string;
      readonly durationSec: number;
      readonly expectedUses?: number | undefined;
    };

/** Returns the terms without a transfer's token that is the reference token: an explicit default makes no difference. */
export function withoutDefaultToken<T extends RequestTerms>(terms: T, tokenContract: string): T {
  if (terms.kind !== 'direct' || terms.transfer?.token !== tokenContract) return terms;
  return { ...terms, transfer: { ...terms.transfer, token: undefined } };
}

/**
 * Returns a hash of 32 bytes (docs/interface.md §10). It covers the quote's ref alone; or address, energy or its
 * absence, and duration; or the extended order and the added duration. Expected uses are part of it only when they
 * differ from 1, the default. The transfer, bandwidth and an activation are part of it only when they are asked for.
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
      return [
        'orders',
        'direct',
        terms.receiveAddress,
        terms.energy?.toString() ?? null,
        terms.durationSec,
        ...uses(terms),
        ...transferred(terms),
        ...(terms.bandwidth === undefined ? [] : ['bandwidth', terms.bandwidth.toString()]),
        ...(terms.activate === true ? ['activate'] : []),
      ];
    case 'activation':
      return ['activate', terms.receiveAddress];
    case 'extension':
      return ['extensions', terms.orderKey, terms.durationSec, ...uses(terms)];
  }
}

const uses = ({ expectedUses = 1 }: { readonly expectedUses?: number | undefined }): readonly number[] =>
  expectedUses === 1 ? [] : [expectedUses];

/** Led by a word, as are bandwidth and an activation, so that no other terms have the same members. */
const transferred = ({ transfer }: { readonly transfer?: TokenTransfer | undefined }): readonly (string | null)[] =>
  transfer === undefined ? [] : ['transfer', transfer.to, transfer.amount.toString(), transfer.token ?? null];
