/**
 * Receivers of test projects: their state, and the refusal of their addresses in live projects (docs/interface.md §32).
 */
import { ApiError } from '../../domain/errors.js';
import type { Recipient } from '../../domain/sizing.js';
import { testAddressName } from '../../domain/test-addresses.js';

/** Returns the 422 error if a live project names an address that only test projects may use. */
export function testAddressRefusal(address: string, isTest: boolean): ApiError | undefined {
  if (isTest || testAddressName(address) === undefined) return undefined;
  return new ApiError(
    'RECEIVER_NOT_SUPPORTED',
    'This is an address for test projects, which has no known private key. Use the address that needs the energy.',
  );
}

/** Throws the error of `testAddressRefusal`, if any. */
export function refuseTestAddress(address: string, isTest: boolean): void {
  const refusal = testAddressRefusal(address, isTest);
  if (refusal !== undefined) throw refusal;
}

/** Returns the state of a test address without reading the chain; undefined for any other address. */
export function playedRecipient(address: string): Recipient | undefined {
  const name = testAddressName(address);
  if (name === undefined) return undefined;
  const needsActivation = name === 'not activated';
  return { state: needsActivation ? 'cold' : 'warm', needsActivation };
}
