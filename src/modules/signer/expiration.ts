/**
 * Limits the expiration of signed transactions: a stolen one with years to live could be sent long after the key was
 * changed. The wall clock decides. For a chain with its own time (SIGNER_CLOCK=chain), earlier signed expirations
 * decide; they may run ahead of elapsed time only at a bounded speed.
 */
import { ageMs, type Moment } from './clocks.js';

export type ClockRule = 'wall' | 'chain';

/** The latest signed expiration, and how far beyond it the next may lie, at a moment. */
export interface ExpirationAnchor extends Moment {
  readonly expiresAtMs: number;
  readonly allowanceMs: number;
}

/** Test chains run at most this many times as fast as the clock. */
const CHAIN_SPEED_MAX = 60;
/** Allowance after the first signature: how far ahead such a chain may be at the next one. */
const FIRST_ALLOWANCE_MS = 3_600_000;

export class Expirations {
  private anchor: ExpirationAnchor | undefined;

  constructor(
    private readonly rule: ClockRule,
    private readonly maxMs: number,
  ) {}

  /** Restores the anchor of an earlier process; the latest expiration counts. */
  restore(anchor: ExpirationAnchor): void {
    if (this.anchor === undefined || anchor.expiresAtMs >= this.anchor.expiresAtMs) this.anchor = anchor;
  }

  /** Returns the reason to refuse this expiration, or undefined. */
  fault(timestampMs: bigint, expiresAtMs: bigint, now: Moment): string | undefined {
    const max = BigInt(this.maxMs);
    if (expiresAtMs - timestampMs > max) return `it expires more than ${this.says} after its own timestamp`;
    if (this.rule === 'wall') {
      return expiresAtMs > BigInt(Math.floor(now.wallMs)) + max
        ? `it expires more than ${this.says} after this machine's clock (SIGNER_CLOCK=chain for a chain of its own time)`
        : undefined;
    }
    if (this.anchor === undefined) return undefined;
    const allowed = BigInt(Math.floor(this.anchor.expiresAtMs + this.allowance(this.anchor, now)));
    return expiresAtMs > allowed ? 'it expires too long after what was signed before' : undefined;
  }

  /** Counts an expiration that is about to be signed. Returns the anchor to store. */
  count(expiresAtMs: number, now: Moment): ExpirationAnchor {
    const before = this.anchor;
    if (before === undefined) this.anchor = { expiresAtMs, allowanceMs: FIRST_ALLOWANCE_MS, ...now };
    else {
      const ahead = Math.max(0, expiresAtMs - before.expiresAtMs);
      const allowanceMs = Math.max(0, this.allowance(before, now) - ahead);
      this.anchor = { expiresAtMs: Math.max(expiresAtMs, before.expiresAtMs), allowanceMs, ...now };
    }
    return this.anchor;
  }

  private allowance(anchor: ExpirationAnchor, now: Moment): number {
    return anchor.allowanceMs + ageMs(now, anchor) * CHAIN_SPEED_MAX;
  }

  private get says(): string {
    return `${(this.maxMs / 1000).toString()} s (SIGNER_EXPIRATION_MAX_SEC)`;
  }
}
