/** Parts of the console's answers: money in credits and dollars, times as text, and no null. */
import { usdOfCredits } from '../../domain/conversion.js';
import { ApiError, invalidField } from '../../domain/errors.js';
import { toJsonInteger, type Credits } from '../../domain/units.js';
import type { Money } from './data-shapes.js';

export function money(amount: bigint): Money {
  return { credits: toJsonInteger(amount), usd: usdOfCredits(amount as Credits) };
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null | undefined };

/** Removes members that are null or undefined. */
export function withoutNull<T extends object>(members: Nullable<T>): T {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  ) as unknown as T;
}

export const timeOf = (moment: Date | null | undefined): string | undefined => moment?.toISOString();

export function notFound(what: string): ApiError {
  return new ApiError('NOT_FOUND', `This project has no such ${what}.`);
}

/** Returns the typed reason of an act. Throws 400 without one. */
export function reasonOf({ reason }: { readonly reason: string }): string {
  const text = reason.trim();
  if (text === '') throw invalidField('reason', 'must state the reason');
  return text;
}
