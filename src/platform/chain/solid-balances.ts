/** Reads the TRX and TRC20 balances of an address from one node's solid state. */
import { accountQuestion } from './account-question.js';
import { addressToHex } from './address.js';
import { readCallOutcome } from './contract-call.js';
import { NodeError } from './errors.js';
import { int64 } from './json.js';
import type { TronNode } from './node.js';

export interface SolidBalances {
  readonly trxSun: bigint;
  readonly token: bigint;
}

const WORD = /^[0-9a-f]{64}$/;

/** Throws NodeError. An account that is not on chain holds no TRX, but may hold the token. */
export async function solidBalancesOf(node: TronNode, address: string, tokenContract: string): Promise<SolidBalances> {
  const question = accountQuestion(address);
  const account = await node.postSolid('walletsolidity/getaccount', question);
  const trxSun = int64(account['balance']);
  if (trxSun === undefined || trxSun < 0n) throw new NodeError(node.name, 'nonsense', 'an account with no balance');
  if (Object.keys(account).length > 0 && account['address'] !== question.address) {
    throw new NodeError(node.name, 'nonsense', 'another account than was asked for');
  }
  const answer = await node.postSolid('walletsolidity/triggerconstantcontract', {
    // The token is the caller: an address that never paid has no account to call from.
    owner_address: tokenContract,
    contract_address: tokenContract,
    function_selector: 'balanceOf(address)',
    parameter: addressToHex(address).slice(2).padStart(64, '0'),
    visible: true,
  });
  const outcome = readCallOutcome(node.name, answer);
  if (outcome.kind !== 'success' || !WORD.test(outcome.result)) {
    throw new NodeError(node.name, 'nonsense', `no balance of the token: ${outcome.kind}`);
  }
  return { trxSun, token: BigInt(`0x${outcome.result}`) };
}
