/** Reads the additional chain parameters that the cost of a transfer depends on. */
import type { ChainParameters, ParameterBounds } from './chain-parameters.js';
import { dynamicStepsIn, type DynamicSteps } from './dynamic-energy.js';
import { NodeError } from './errors.js';
import { int64, objectsOf, type JsonObject } from './json.js';
import type { TronClient } from './tron.client.js';

export interface TransferPrices extends ChainParameters, DynamicSteps {
  /** Free bandwidth of an account per day. */
  readonly freeNetLimit: bigint;
}

const FREE_NET_LIMIT = 'getFreeNetLimit';
/** A value that no network comes near. */
const FREE_NET_MAX = 100_000n;

/** Throws ChainUnavailableError. */
export async function readTransferPrices(client: TronClient, bounds: ParameterBounds): Promise<TransferPrices> {
  const [parameters, more] = await Promise.all([
    client.chainParameters(bounds),
    client.pool.ask('wallet/getchainparameters', async (node) =>
      readMore(node.name, await node.postFull('wallet/getchainparameters', {})),
    ),
  ]);
  return { ...parameters, ...more };
}

function readMore(node: string, json: JsonObject): Omit<TransferPrices, keyof ChainParameters> {
  const entry = objectsOf(json['chainParameter']).find(({ key }) => key === FREE_NET_LIMIT);
  const freeNetLimit = int64(entry?.['value']);
  if (freeNetLimit === undefined || freeNetLimit < 0n || freeNetLimit > FREE_NET_MAX) {
    throw new NodeError(node, 'nonsense', `chain parameters without a believable ${FREE_NET_LIMIT}`);
  }
  return { freeNetLimit, ...dynamicStepsIn(node, json) };
}
