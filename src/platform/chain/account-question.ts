/**
 * Builds a request for an account. TRON: with `visible`, the account's name (arbitrary bytes chosen by its owner) comes
 * unescaped and can break the JSON. Without `visible`, names and addresses come as hex.
 */
import { addressToHex } from './address.js';

export const accountQuestion = (address: string) => ({ address: addressToHex(address) });
