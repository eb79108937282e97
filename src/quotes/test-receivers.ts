/** What the receivers of test projects look like, and that nobody else may name them (docs/interface.md §32). */
import { ApiError } from '../domain/errors.js';
import type { Recipient } from '../domain/sizing.js';
import { testAddressName } from '../domain/test-addresses.js';

/** 422: a live project names an address that only test projects play. */
export function testAddressRefusal(address: string, isTest: boolean): ApiError | undefined {
  if (isTest || testAddressName(address) === undefined) return undefined;
  return new ApiError(
    'RECEIVER_NOT_SUPPORTED',
    'This is an address for test projects, of which nobody has the key; name the address that needs the energy.',
  );
}

/** Throws 422 as `testAddressRefusal` has it. */
export function refuseTestAddress(address: string, isTest: boolean): void {
  const refusal = testAddressRefusal(address, isTest);
  if (refusal !== undefined) throw refusal;
}

/** How a test address is sized, without asking the chain; undefined of any other address. */
export function playedRecipient(address: string): Recipient | undefined {
  const name = testAddressName(address);
  if (name === undefined) return undefined;
  const needsActivation = name === 'not activated';
  return { state: needsActivation ? 'cold' : 'warm', needsActivation };
}
