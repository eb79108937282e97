/** What becomes of a deposit that stands in a solid block: credited at which rate, held, or waiting, and why. Pure. */
import type { DepositAsset } from '../domain/deposit-state.js';
import { CREDITS_PER_USD, RATE_SCALE, rateE8, type RateE8 } from '../domain/units.js';

/** What is known of an asset's worth at the minute of a block. */
export interface MinuteRate {
  /** Of that minute; the first one after it when there was none, or when a dollar token had lost its peg. */
  readonly rate: RateE8;
  /** The median of the 24 hours before. */
  readonly median: RateE8;
}

interface JudgedTerms {
  readonly rate: MinuteRate | undefined;
  /** Whether two nodes name it, where two are configured. */
  readonly isAgreed: boolean;
}

type WaitReason = 'no_rate' | 'below_peg';
type HoldReason = 'rate_jump' | 'one_node';

export type Judgement =
  | { readonly status: 'pending'; readonly reason: WaitReason; readonly rate: RateE8 | undefined }
  | { readonly status: 'held'; readonly reason: HoldReason; readonly rate: RateE8 | undefined }
  | { readonly status: 'creditable'; readonly rate: RateE8 };

/** Further than this from the median of a day, in percent, a rate is for the operator to judge. */
export const JUMP_PERCENT = 10n;
/** Below this a dollar token has lost its peg: 0.99. */
export const PEG_MIN = 99_000_000n;
/** A hundred million dollars; and what no ledger column holds. */
export const CREDITS_MAX = 100_000_000n * CREDITS_PER_USD;
const UNITS_PER_WHOLE = 1_000_000n;

/** Credits for `worth`, the sum of amounts times their rates: rounded down. */
export function creditsOfWorth(worth: bigint): bigint {
  return (worth * CREDITS_PER_USD) / (UNITS_PER_WHOLE * RATE_SCALE);
}

/** Judges a deposit that is large enough by itself: by who saw it, and by the rate of its minute. */
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

/** A dollar token is never worth more than a dollar here. */
export function valuedAt(asset: DepositAsset, rate: RateE8): RateE8 {
  return asset === 'TRX' || rate < RATE_SCALE ? rate : rateE8(RATE_SCALE);
}

function distance(one: bigint, other: bigint): bigint {
  return one > other ? one - other : other - one;
}
