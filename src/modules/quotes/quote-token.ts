/**
 * A quote as a sealed token. The caller carries its terms, so quoting writes nothing and any process can redeem it. It
 * is sealed for one project and unknown to every other.
 */
import { randomUUID } from 'node:crypto';
import { credits, energy, rateE8, sun, type Credits, type Energy, type RateE8, type Sun } from '../../domain/units.js';
import type { FurtherParts } from '../../domain/order-items.js';
import type { Sealer } from '../../platform/support/seal.js';

/** The terms of a purchase, fixed from the quote to the charge. */
export interface QuoteTerms extends FurtherParts {
  readonly receiveAddress: string;
  readonly energy: Energy;
  readonly durationSec: number;
  /** As the caller sent it; absent if it did not. */
  readonly expectedUses?: number | undefined;
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rate: RateE8;
}

export interface OpenQuote extends QuoteTerms {
  /** UUID. The quote becomes at most one order, which carries this id. */
  readonly id: string;
  /** By the database's clock, which decides expiry. */
  readonly expiresAtMs: number;
}

/** Tokens with further members have versions of their own, so that the release before can open all others. */
const VERSION = 1;
const VERSION_WITH_USES = 2;
const VERSION_WITH_PARTS = 3;
const ADDRESS_BYTES = 34;
/** version(1) id(16) expiry(8) address(34) energy(8) duration(4) price(8) credits(8) rate(8) */
const TOKEN_BYTES = 1 + 16 + 8 + ADDRESS_BYTES + 8 + 4 + 8 + 8 + 8;
/** uses(4) at the end */
const USES_BYTES = 4;
/** Then, each 0 if absent: bandwidth(8) its price(8) its credits(8), price(8) and credits(8) of an activation. */
const PARTS_BYTES = 5 * 8;
const VERSIONS = [VERSION, VERSION_WITH_USES, VERSION_WITH_PARTS] as const;
const LENGTHS: Readonly<Record<(typeof VERSIONS)[number], number>> = {
  [VERSION]: TOKEN_BYTES,
  [VERSION_WITH_USES]: TOKEN_BYTES + USES_BYTES,
  [VERSION_WITH_PARTS]: TOKEN_BYTES + USES_BYTES + PARTS_BYTES,
};
const REF = /^[A-Za-z0-9_-]{1,512}$/;

function context(projectId: string): string {
  return `quote/${projectId.toLowerCase()}`;
}

/**
 * Returns a UUID version 7 (RFC 9562): 48 bits of milliseconds before 74 random bits. Quotes redeemed together are then
 * neighbours in the index of quotes, however large it is.
 */
export function newQuoteId(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Seals a quote for a project. The ref matches `[A-Za-z0-9_-]{1,512}`. */
export function sealQuote(sealer: Sealer, projectId: string, quote: OpenQuote): string {
  const version = versionOf(quote);
  const bytes = Buffer.alloc(LENGTHS[version]);
  let at = bytes.writeUInt8(version, 0);
  at += bytes.write(quote.id.replaceAll('-', ''), at, 'hex');
  at = bytes.writeBigUInt64BE(BigInt(quote.expiresAtMs), at);
  at += bytes.write(quote.receiveAddress, at, ADDRESS_BYTES, 'latin1');
  at = bytes.writeBigUInt64BE(quote.energy, at);
  at = bytes.writeUInt32BE(quote.durationSec, at);
  at = bytes.writeBigUInt64BE(quote.priceSun, at);
  at = bytes.writeBigUInt64BE(quote.credits, at);
  at = bytes.writeBigUInt64BE(quote.rate, at);
  if (version !== VERSION) at = bytes.writeUInt32BE(quote.expectedUses ?? 0, at);
  if (version === VERSION_WITH_PARTS) {
    for (const member of membersOf(quote)) at = bytes.writeBigUInt64BE(member, at);
  }
  return sealer.seal(bytes, context(projectId)).toString('base64url');
}

/**
 * Returns the quote of a ref, expired or not; undefined if it was never issued to this project (docs/interface.md §7).
 */
export function openQuote(sealer: Sealer, projectId: string, ref: string): OpenQuote | undefined {
  if (!REF.test(ref)) return undefined;
  const sealed = Buffer.from(ref, 'base64url');
  // Base64 of some lengths leaves unused bits. We never issued a ref that differs only in these bits.
  if (sealed.toString('base64url') !== ref) return undefined;
  const bytes = sealer.open(sealed, context(projectId));
  const version = bytes === undefined ? undefined : VERSIONS.find((each) => each === bytes[0]);
  if (bytes === undefined || version === undefined || bytes.length !== LENGTHS[version]) return undefined;
  const id = bytes.toString('hex', 1, 17);
  let at = 17;
  const next = (): bigint => {
    const value = bytes.readBigUInt64BE(at);
    at += 8;
    return value;
  };
  const expiresAtMs = Number(next());
  const receiveAddress = bytes.toString('latin1', at, at + ADDRESS_BYTES);
  at += ADDRESS_BYTES;
  const amount = energy(next());
  const durationSec = bytes.readUInt32BE(at);
  at += 4;
  const terms = { priceSun: sun(next()), credits: credits(next()), rate: rateE8(next()) };
  const expectedUses = version === VERSION ? 0 : bytes.readUInt32BE(at);
  at += USES_BYTES;
  return {
    id: `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`,
    expiresAtMs,
    receiveAddress,
    energy: amount,
    durationSec,
    ...terms,
    ...(expectedUses > 0 && { expectedUses }),
    ...(version === VERSION_WITH_PARTS && partsOf(next)),
  };
}

function versionOf({ expectedUses, bandwidth, activation }: OpenQuote): (typeof VERSIONS)[number] {
  if (bandwidth !== undefined || activation !== undefined) return VERSION_WITH_PARTS;
  return expectedUses === undefined ? VERSION : VERSION_WITH_USES;
}

function membersOf({ bandwidth, activation }: FurtherParts): readonly bigint[] {
  return [
    bandwidth?.units ?? 0n,
    bandwidth?.priceSun ?? 0n,
    bandwidth?.credits ?? 0n,
    activation?.priceSun ?? 0n,
    activation?.credits ?? 0n,
  ];
}

function partsOf(next: () => bigint): FurtherParts {
  const bandwidth = { units: next(), priceSun: sun(next()), credits: credits(next()) };
  const activation = { priceSun: sun(next()), credits: credits(next()) };
  return { ...(bandwidth.units > 0n && { bandwidth }), ...(activation.priceSun > 0n && { activation }) };
}
