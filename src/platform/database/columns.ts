/** Column types of entities: amounts as bigint, times as Date. */
import type { ColumnOptions } from 'typeorm';

/** A bigint column as bigint; the driver hands texts to entities, and a number would round. */
export const BIGINT = {
  type: 'bigint',
  transformer: {
    from: (text: string | null) => (text === null ? null : BigInt(text)),
    to: (value: bigint | null | undefined) => value?.toString() ?? value,
  },
} as const satisfies ColumnOptions;

export const TIMESTAMPTZ = { type: 'timestamptz' } as const satisfies ColumnOptions;
