/** Reads the additional chain parameters that the cost of a transfer depends on. */
import type { ChainParameters, ParameterBounds } from './chain-parameters.js';
import { NodeError } from './errors.js';
import { int64, objectsOf, type JsonObject } from './json.js';
import type { TronClient } from './tron.client.js';

export interface TransferPrices extends ChainParameters {
  /** Free bandwidth of an account per day. */
  readonly freeNetLimit: bigint;
  /** The maximum rise of a contract's energy surcharge per maintenance period, in 1/10 000. */
  readonly dynamicStep: bigint;
  /** The highest energy surcharge of a contract, in 1/10 000. */
  readonly dynamicMax: bigint;
}

/** TRON: the committee's bounds, or a value that no network comes near. */
const PARAMETERS = {
  freeNetLimit: { key: 'getFreeNetLimit', max: 100_000n },
  dynamicStep: { key: 'getDynamicEnergyIncreaseFactor', max: 10_000n },
  dynamicMax: { key: 'getDynamicEnergyMaxFactor', max: 100_000n },
} as const;

/** Throws ChainUnavailableError. */
export async function readTransferPrices(client: TronClient, bounds: ParameterBounds): Promise<TransferPrices> {
  const [parameters, more] = await Promise.all([
    client.chainParameters(bounds),
    client.pool.ask('wallet/getchainparameters', async (node) =>
      readMore(node.name, await node.full('wallet/getchainparameters', {})),
    ),
  ]);
  return { ...parameters, ...more };
}

/** TRON: a parameter of zero has no value. */
function readMore(node: string, json: JsonObject): Omit<TransferPrices, keyof ChainParameters> {
  const entries = objectsOf(json['chainParameter']);
  const valueOf = ({ key, max }: { readonly key: string; readonly max: bigint }): bigint => {
    const value = int64(entries.find((entry) => entry['key'] === key)?.['value']);
    if (value === undefined || value < 0n || value > max) {
      throw new NodeError(node, 'nonsense', `chain parameters without a believable ${key}`);
    }
    return value;
  };
  return {
    freeNetLimit: valueOf(PARAMETERS.freeNetLimit),
    dynamicStep: valueOf(PARAMETERS.dynamicStep),
    dynamicMax: valueOf(PARAMETERS.dynamicMax),
  };
}
