/** Reads the chain's fees for changing the permissions of an account. */
import { NodeError } from './errors.js';
import { int64, objectsOf, type JsonObject } from './json.js';
import type { TronClient } from './tron.client.js';

export interface PermissionFees {
  /** Burnt by an update of permissions. */
  readonly updateSun: bigint;
  /** Burnt by any transaction with more than one signature. */
  readonly multiSignSun: bigint;
}

const PARAMETERS_PATH = 'wallet/getchainparameters';
/** TRON (ProposalUtil): the committee can set both fees to at most 100 000 TRX. */
const FEE_MAX_SUN = 100_000_000_000n;

/** Throws ChainUnavailableError. */
export async function readPermissionFees({ pool }: TronClient): Promise<PermissionFees> {
  return pool.ask(PARAMETERS_PATH, async (node) => feesIn(node.name, await node.postFull(PARAMETERS_PATH, {})));
}

function feesIn(node: string, json: JsonObject): PermissionFees {
  const entries = objectsOf(json['chainParameter']);
  const valueOf = (key: string): bigint => {
    const [entry, ...more] = entries.filter((each) => each['key'] === key);
    // TRON: a parameter of zero has no value.
    const value = entry === undefined || more.length > 0 ? undefined : int64(entry['value']);
    if (value === undefined || value < 0n || value > FEE_MAX_SUN) {
      throw new NodeError(node, 'nonsense', `chain parameters without a believable ${key}`);
    }
    return value;
  };
  return { updateSun: valueOf('getUpdateAccountPermissionFee'), multiSignSun: valueOf('getMultiSignFee') };
}
