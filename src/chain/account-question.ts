/**
 * How an account is asked for. TRON: with `visible` its name, any bytes of its owner's choice, is answered as it is, and may be
 * no JSON; without, names and addresses are hex.
 */
import { addressToHex } from './address.js';

export const accountQuestion = (address: string) => ({ address: addressToHex(address) });
