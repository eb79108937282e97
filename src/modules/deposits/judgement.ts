/** Decides on a deposit in a solid block: creditable with its rate, held, or pending. Pure. */
import type { DepositAsset } from '../../domain/deposit-state.js';
import { CREDITS_PER_USD, RATE_SCALE, rateE8, type Credits, type RateE8 } from '../../domain/units.js';

/** The known worth of an asset at the minute of a block. */
export interface MinuteRate {
  /** The rate of that minute. The first later one if that minute has none, or if a dollar token had lost its peg. */
  readonly rate: RateE8;
  /** The median of the preceding 24 hours. */
  readonly median: RateE8;
}

interface JudgedTerms {
  readonly rate: MinuteRate | undefined;
  /** True when two nodes report it, where two are configured. */
  readonly isAgreed: boolean;
}

type WaitReason = 'no_rate' | 'below_peg';
type HoldReason = 'rate_jump' | 'one_node';

export type Judgement =
  | { readonly status: 'pending'; readonly reason: WaitReason; readonly rate: RateE8 | undefined }
  | { readonly status: 'held'; readonly reason: HoldReason; readonly rate: RateE8 | undefined }
  | { readonly status: 'creditable'; readonly rate: RateE8 };

/** The decision on one transfer. A later transfer of the same transaction may still change that on a small deposit. */
export interface Decision {
  status: 'credited' | 'held' | 'pending';
  reason: string | null;
  readonly rateE8: bigint | null;
  entryKey: string | null;
  readonly credits: Credits | null;
  /** The sum of small deposits that includes it. */
  sumId: bigint | null;
}

/** A rate further than this from the day's median, in percent, needs the operator's decision. */
export const JUMP_PERCENT = 10n;
/** 0.99: below it, a dollar token has lost its peg. */
export const PEG_MIN = 99_000_000n;
/** One hundred million dollars; larger amounts would not fit the ledger's columns. */
export const CREDITS_MAX = 100_000_000n * CREDITS_PER_USD;
const UNITS_PER_WHOLE = 1_000_000n;

/** Returns the credits for `worth`, the sum of amounts times their rates. Rounds down. */
export function creditsOfWorth(worth: bigint): bigint {
  return (worth * CREDITS_PER_USD) / (UNITS_PER_WHOLE * RATE_SCALE);
}

/** Judges a deposit above the minimum, by its witnesses and the rate of its minute. */
export function judge(asset: DepositAsset, { rate, isAgreed }: JudgedTerms): Judgement {
  const valued = rate && valuedAt(asset, rate.rate);
  const held = (reason: HoldReason): Judgement => ({ status: 'held', reason, rate: valued });
  if (!isAgreed) return held('one_node');
  if (rate === undefined || valued === undefined) return { status: 'pending', reason: 'no_rate', rate: undefined };
  if (asset === 'USDT') {
    if (rate.rate < PEG_MIN) return { status: 'pending', reason: 'below_peg', rate: undefined };
  } else if (distance(rate.rate, rate.median) * 100n > rate.median * JUMP_PERCENT) {
    return held('rate_jump');
  }
  return { status: 'creditable', rate: valued };
}

/** Caps the rate of a dollar token at one dollar. */
export function valuedAt(asset: DepositAsset, rate: RateE8): RateE8 {
  return asset === 'TRX' || rate < RATE_SCALE ? rate : rateE8(RATE_SCALE);
}

function distance(one: bigint, other: bigint): bigint {
  return one > other ? one - other : other - one;
}
