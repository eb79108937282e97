/** A transfer of a TRC20 token as a contract call, and its simulation. */
import { TRANSFER, addressWord, showsTransfer, uintWord } from '../../domain/sizing.js';
import { addressToHex } from './address.js';
import type { CallOutcome, ContractCall } from './contract-call.js';
import type { TronClient } from './tron.client.js';

export interface SimulatedTransfer {
  readonly call: ContractCall;
  readonly outcome: CallOutcome;
  /** True if the call succeeds and its events prove that tokens move from the sender to the recipient. */
  readonly isProven: boolean;
}

/** Returns the call by which `from` sends `amount` of a token's smallest unit to `to`. */
export function transferCall(token: string, from: string, to: string, amount: bigint): ContractCall {
  const parameter = addressWord(addressToHex(to)) + uintWord(amount);
  return { ownerAddress: from, contractAddress: token, functionSelector: TRANSFER, parameter };
}

/** Simulates a transfer. A node that omits events would hide the proof, so a second node is then queried. */
export async function simulateTransfer(
  chain: TronClient,
  token: string,
  { from, to, amount }: { readonly from: string; readonly to: string; readonly amount: bigint },
): Promise<SimulatedTransfer> {
  const [fromHex, toHex] = [addressToHex(from), addressToHex(to)];
  const isProof = (outcome: CallOutcome): boolean =>
    outcome.kind === 'success' && showsTransfer(outcome.logs, fromHex, toHex);
  const call = transferCall(token, from, to, amount);
  const outcome = await chain.simulate(call, (answer) => answer.kind !== 'success' || isProof(answer));
  return { call, outcome, isProven: isProof(outcome) };
}
