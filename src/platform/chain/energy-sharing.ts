/** Reads how a contract's deployer shares in the energy of calls. */
import { NO_SHARING, type EnergySharing } from '../../domain/energy-share.js';
import { NodeError } from './errors.js';
import { int64, type JsonObject } from './json.js';
import type { TronNode } from './node.js';
import type { TronClient } from './tron.client.js';

const CONTRACT_PATH = 'wallet/getcontract';
/** TRON (Constant.CREATOR_DEFAULT_ENERGY_LIMIT): the limit of contracts deployed without one. */
const DEFAULT_LIMIT = 10_000_000n;

interface ContractTerms {
  readonly deployer: string;
  readonly callerPercent: bigint;
  readonly limit: bigint;
}

/** A deployer's share in the calls of its contract. */
export interface ContractSharing extends EnergySharing {
  readonly deployer: string;
}

/**
 * Reads a contract's terms and, if the deployer pays a part, the deployer's available energy. Returns undefined when
 * there is no such contract. Throws ChainUnavailableError. The deployer's own calls are not shared: use NO_SHARING for
 * them.
 */
export async function sharingOf(chain: TronClient, contract: string): Promise<ContractSharing | undefined> {
  const terms = await chain.pool.ask(CONTRACT_PATH, (node) => termsOf(node, contract));
  if (terms === undefined) return undefined;
  if (terms.callerPercent >= 100n) return { ...terms, available: 0n };
  const { energyLimit, energyUsed } = await chain.accountResources(terms.deployer);
  return { ...terms, available: energyLimit > energyUsed ? energyLimit - energyUsed : 0n };
}

/** Returns the sharing that applies to a call by `caller`. */
export function sharingFor(caller: string, sharing: ContractSharing | undefined): EnergySharing {
  return sharing === undefined || sharing.deployer === caller ? NO_SHARING : sharing;
}

async function termsOf(node: TronNode, contract: string): Promise<ContractTerms | undefined> {
  const json = await node.postFull(CONTRACT_PATH, { value: contract, visible: true });
  if (Object.keys(json).length === 0) return undefined;
  return readTerms(node.name, contract, json);
}

function readTerms(node: string, contract: string, json: JsonObject): ContractTerms {
  const deployer = json['origin_address'];
  // TRON: an absent percentage is zero, and then the deployer pays for the whole call.
  const callerPercent = int64(json['consume_user_resource_percent']);
  const limit = int64(json['origin_energy_limit']);
  if (json['contract_address'] !== contract || typeof deployer !== 'string') {
    throw new NodeError(node, 'nonsense', 'another contract than was asked for');
  }
  if (callerPercent === undefined || limit === undefined) {
    throw new NodeError(node, 'nonsense', 'a contract without its energy terms');
  }
  return { deployer, callerPercent, limit: limit === 0n ? DEFAULT_LIMIT : limit };
}
