/** Conversions of TRON addresses between base58check and hex, and the mistakes that make a text an invalid address. */
import { randomBytes } from 'node:crypto';
import {
  addressBytes,
  addressChecksum,
  BASE58_ALPHABET,
  isAddress,
  PAYLOAD_BYTES,
} from '../../domain/base58-address.js';

const HEX_ADDRESS = /^(?:0x)?(?:41)?[0-9a-f]{40}$/i;
/** Some databases and forms convert addresses to lower case. */
const LOWER_CASE = /^t[1-9a-z]{33}$/;
const INVISIBLE = /[\p{Cf}\p{Cc}]/gu;

/**
 * Returns the common mistake that makes a text an invalid address. Undefined for a valid address and for unknown
 * mistakes.
 */
export function addressSlip(text: string): string | undefined {
  if (isAddress(text)) return undefined;
  if (text.trim() !== text && isAddress(text.trim())) return 'must have no space before or after the address';
  if (/^\s*tron:/i.test(text)) return 'must be the address alone, beginning with T, without "tron:"';
  if (HEX_ADDRESS.test(text.trim())) return 'must be in base58check form (T…), not in hex';
  if (isAddress(text.replaceAll(INVISIBLE, ''))) return 'must not contain invisible characters';
  if (LOWER_CASE.test(text)) return 'must keep its upper-case letters, which this text has lost';
  return undefined;
}

/** Returns the fault of a text that should be an address; undefined for a valid address. */
export const addressFault = (text: string): string | undefined =>
  isAddress(text) ? undefined : (addressSlip(text) ?? 'must be a TRON address (T…, base58check)');

/** Returns the `41…` hex form of a base58check address. Throws TypeError for anything else. */
export function addressToHex(address: string): string {
  const bytes = addressBytes(address);
  if (bytes === undefined) throw new TypeError('not a TRON address');
  return bytes.toString('hex');
}

const DIGITS_PER_STEP = 8;
const EIGHT_DIGITS = 58n ** 8n;

/** Returns the base58check address of 21 bytes that begin with 0x41. Throws TypeError for anything else. */
export function addressFromBytes(payload: Uint8Array): string {
  if (payload.length !== PAYLOAD_BYTES || payload[0] !== 0x41) throw new TypeError('not 21 address bytes');
  let value = BigInt(`0x${Buffer.concat([payload, addressChecksum(payload)]).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= EIGHT_DIGITS) {
    let part = Number(value % EIGHT_DIGITS);
    for (let digit = 0; digit < DIGITS_PER_STEP; digit += 1) {
      text = BASE58_ALPHABET.charAt(part % 58) + text;
      part = Math.floor(part / 58);
    }
  }
  // Every address begins with T, so leading 1 digits are padding of the last group.
  return text.slice(text.indexOf('T'));
}

/** Returns the base58check address of `41…` hex. */
export function addressFromHex(hex: string): string {
  return addressFromBytes(Buffer.from(hex, 'hex'));
}

/** Returns a random address: practically certain to be unused. */
export function unusedAddress(): string {
  return addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(PAYLOAD_BYTES - 1)]));
}
