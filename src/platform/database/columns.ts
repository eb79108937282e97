/** Column types of entities: amounts as bigint, times as Date. */
import type { ColumnOptions } from 'typeorm';
import { requestIdIn } from '../support/purchase-reference.js';

/** A bigint column as bigint; the driver hands texts to entities, and a number would round. */
export const BIGINT = {
  type: 'bigint',
  transformer: {
    from: (text: string | null) => (text === null ? null : BigInt(text)),
    to: (value: bigint | null | undefined) => value?.toString() ?? value,
  },
} as const satisfies ColumnOptions;

export const TIMESTAMPTZ = { type: 'timestamptz' } as const satisfies ColumnOptions;

/** The request id in the reference that a purchase stores. Only the statements of purchases write it. */
export const REQUEST_ID = {
  type: 'text',
  transformer: {
    from: (reference: string | null) => requestIdIn(reference) ?? null,
    to: (value: string | null | undefined) => value,
  },
} as const satisfies ColumnOptions;
