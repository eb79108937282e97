/**
 * Reads the settings of a token's owner (as of USDT) from one node's solid state. A missing function means that the
 * setting is off: most tokens have no owner acts.
 */
import { addressFromBytes, addressToHex } from './address.js';
import { readCallOutcome } from './contract-call.js';
import { NodeError } from './errors.js';
import { isJsonObject, objectsOf } from './json.js';
import type { TronNode } from './node.js';

export interface TokenState {
  readonly isDeprecated: boolean;
  /** The contract that a deprecated token forwards to. */
  readonly successor: string | undefined;
  readonly isPaused: boolean;
  /** The part of each transfer that the token keeps, in hundredths of a percent. */
  readonly feeBasisPoints: bigint;
  /** The maximum that it keeps of one transfer, in its smallest unit. */
  readonly maximumFee: bigint;
}

const WORD = /^[0-9a-f]{64}$/;
const NO_ADDRESS = '0'.repeat(40);
/** keccak256 of Deprecate(address). */
const DEPRECATE_EVENT = 'cc358699805e9a8b7f77b522628c7cb9abd07d9efb86b6fb616af1609036a99e';

/** Throws NodeError. */
export async function tokenStateOf(node: TronNode, contract: string): Promise<TokenState> {
  const isDeprecated = isTrue(await view(node, contract, 'deprecated()'));
  return {
    isDeprecated,
    successor: isDeprecated ? addressIn(await view(node, contract, 'upgradedAddress()')) : undefined,
    isPaused: isTrue(await view(node, contract, 'paused()')),
    feeBasisPoints: numberIn(await view(node, contract, 'basisPointsRate()')),
    maximumFee: numberIn(await view(node, contract, 'maximumFee()')),
  };
}

/** Returns true if a token blocks all transfers from an address. Throws NodeError. */
export async function isBlacklisted(node: TronNode, contract: string, holder: string): Promise<boolean> {
  return isTrue(await view(node, contract, 'isBlackListed(address)', wordOf(holder)));
}

/** Returns true if `successor` answers like a token. Throws NodeError. */
export async function hasBalances(node: TronNode, successor: string): Promise<boolean> {
  return (await view(node, successor, 'balanceOf(address)', wordOf(successor))) !== undefined;
}

/** Returns true if a token was deprecated in favour of `successor` in the solid block at a height. Throws NodeError. */
export async function isDeprecatedIn(
  node: TronNode,
  block: number,
  { contract, successor }: { readonly contract: string; readonly successor: string },
): Promise<boolean> {
  const receipts = await node.blocks.json('solid', 'gettransactioninfobyblocknum', block);
  if (!Array.isArray(receipts)) throw new NodeError(node.name, 'nonsense', 'no list of receipts');
  const [from, to] = [contract, successor].map((address) => addressToHex(address).slice(2).toLowerCase());
  return receipts.some(
    (receipt: unknown) =>
      isJsonObject(receipt) &&
      receipt['result'] !== 'FAILED' &&
      objectsOf(receipt['log']).some(({ address, topics, data }) => {
        const [event, indexed] = Array.isArray(topics) ? (topics as readonly unknown[]) : [];
        const named: unknown = indexed ?? data;
        return (
          event === DEPRECATE_EVENT &&
          typeof address === 'string' &&
          address.toLowerCase().endsWith(from ?? '') &&
          typeof named === 'string' &&
          named.toLowerCase().endsWith(to ?? '')
        );
      }),
  );
}

/** Returns the first word of a function's result; undefined where the contract lacks the function. */
async function view(node: TronNode, contract: string, selector: string, parameter = ''): Promise<string | undefined> {
  const answer = await node.postSolid('walletsolidity/triggerconstantcontract', {
    // The token is the caller: an address that never paid has no account to call from.
    owner_address: contract,
    contract_address: contract,
    function_selector: selector,
    parameter,
    visible: true,
  });
  const outcome = readCallOutcome(node.name, answer);
  if (outcome.kind === 'refused' && outcome.refusal !== 'no-contract') {
    throw new NodeError(node.name, 'nonsense', `no answer to ${selector}: ${outcome.message}`);
  }
  return outcome.kind === 'success' && WORD.test(outcome.result) ? outcome.result : undefined;
}

function wordOf(address: string): string {
  return addressToHex(address).slice(2).padStart(64, '0');
}

function isTrue(word: string | undefined): boolean {
  return numberIn(word) === 1n;
}

function numberIn(word: string | undefined): bigint {
  return word === undefined ? 0n : BigInt(`0x${word}`);
}

function addressIn(word: string | undefined): string | undefined {
  const hex = word?.slice(24);
  return hex === undefined || hex === NO_ADDRESS ? undefined : addressFromBytes(Buffer.from(`41${hex}`, 'hex'));
}
