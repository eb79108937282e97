// A contract that creates others at predictable addresses, where an account may already exist.
import { TronWeb, utils } from 'tronweb';
import { word } from '../client.js';
import { assemble, deployable } from './assembler.js';

/** Leaves a contract of one byte, STOP. */
const CHILD = '600160005360016000f3';

/** Creates a child by CREATE2 with the salt in its parameter, 0 without one. Returns its address. */
export const MAKER = deployable(assemble(`0x${CHILD} 0 MSTORE 4 CALLDATALOAD 10 22 0 CREATE2 0 MSTORE 32 0 RETURN`));

/** Returns the base58 address of a `MAKER`'s child for a salt. TRON: 41 where Ethereum has ff. */
export function childOf(maker: string, salt: number): string {
  const { keccak256 } = utils.ethersUtils;
  const code = keccak256(`0x${CHILD}`).slice(2);
  const from = TronWeb.address.toHex(maker).toLowerCase();
  return TronWeb.address.fromHex(`41${keccak256(`0x${from}${word(salt)}${code}`).slice(26)}`);
}
