// Checks that all contracts on stake and votes share. Messages are java-tron's.
import { type Account, type Resource, RESOURCES, accountAt } from './accounts.js';
import { missingAccount } from './actuators.js';
import { isAddress } from './address.js';
import { validateError } from './errors.js';
import type { Context } from './fees.js';
import { num, text } from './fields.js';
import type { Message } from './schema.js';

/** Returns the resource that a contract names; undefined for an unknown one. */
export function resourceOf(message: Message): Resource | undefined {
  return RESOURCES[num(message, 'resource')];
}

/** Returns the owner of a contract. Throws the validate error, with `missing` for an address without account. */
export function ownerOf(context: Context, message: Message, missing: string): Account {
  const address = text(message, 'owner_address');
  if (!isAddress(address)) throw validateError('Invalid address');
  const account = accountAt(context.state, address);
  if (account === undefined) throw validateError(`Account[${address}] ${missing}`);
  return account;
}

/** Returns an account that a check found before. */
export function held(context: Context, address: string): Account {
  const account = accountAt(context.state, address);
  if (account === undefined) throw missingAccount(address);
  return account;
}
