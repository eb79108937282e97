/**
 * The network's totals that decide how much stake a delegation needs. Remembers the last totals that enough nodes
 * agreed on. One node's answer is accepted while it stays near them; a larger step needs agreement.
 */
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import type { TronNode } from '../../platform/chain/node.js';
import { resourcesOf, type TronClient } from '../../platform/chain/tron.client.js';
import type { NetworkTotals } from './bandwidth-stake.js';

/**
 * Largest change of a stake's energy value, in 1/100, that one node may report alone. Real stake moves by a millionth
 * in a block.
 */
const STEP_PERCENT = 1n;

export const DOUBTFUL_RATIO = 'nodes disagree on the energy of the network';
export const DOUBTFUL_RATIO_EFFECT = 'the last agreed ratio stays in use';

export class AgreedRatio {
  private agreed: NetworkTotals | undefined;

  /** `onDoubt` receives the node names when nodes do not agree on a step; for the log. */
  constructor(
    private readonly client: TronClient,
    private readonly onDoubt: (nodes: readonly string[]) => void,
  ) {}

  /**
   * Returns the totals from the resources of any existing account. Throws ChainUnavailableError, also if nodes
   * contradict each other before any agreement.
   */
  async read(address: string): Promise<NetworkTotals> {
    const said = totalsOf(await this.client.accountResources(address));
    return this.agreed !== undefined && isNear(said, this.agreed) ? said : this.agree(address);
  }

  private async agree(address: string): Promise<NetworkTotals> {
    const { agreement } = this.client.pool;
    const answers = await this.client.pool.askEach('the energy of the network', async (node) => ({
      node,
      ratio: await resourcesOf(node, address),
    }));
    const [most = []] = answers
      .map(({ ratio }) => answers.filter((other) => isNear(ratio, other.ratio)))
      .sort((a, b) => b.length - a.length);
    const nodes = most.map(({ node }) => node);
    // Without an earlier agreement there is nothing to compare with, so the nodes that answered are enough.
    const isEnough = this.agreed === undefined || agreement.suffices(witnessesAmong(agreement.witnesses, nodes));
    const [first] = most;
    if (first !== undefined && most.length * 2 > answers.length && isEnough) {
      return (this.agreed = totalsOf(first.ratio));
    }
    this.onDoubt(answers.map(({ node }) => node.name));
    if (this.agreed === undefined)
      throw new ChainUnavailableError('the energy of the network', [new Error(DOUBTFUL_RATIO)]);
    return this.agreed;
  }
}

function witnessesAmong(witnesses: readonly TronNode[], nodes: readonly TronNode[]): readonly TronNode[] {
  return witnesses.filter(({ witness }) => nodes.some((node) => node.witness === witness));
}

function totalsOf({
  totalEnergyLimit,
  totalEnergyWeight,
  totalNetLimit,
  totalNetWeight,
}: NetworkTotals): NetworkTotals {
  return { totalEnergyLimit, totalEnergyWeight, totalNetLimit, totalNetWeight };
}

/** Returns true if both give a stake the same energy and the same bandwidth to within one hundredth. */
function isNear(one: NetworkTotals, other: NetworkTotals): boolean {
  return (
    isClose(one.totalEnergyLimit * other.totalEnergyWeight, other.totalEnergyLimit * one.totalEnergyWeight) &&
    // A chain on which no account has staked for bandwidth.
    ((one.totalNetWeight === 0n && other.totalNetWeight === 0n) ||
      isClose(one.totalNetLimit * other.totalNetWeight, other.totalNetLimit * one.totalNetWeight))
  );
}

function isClose(a: bigint, b: bigint): boolean {
  const apart = a > b ? a - b : b - a;
  return b > 0n && apart * 100n <= b * STEP_PERCENT;
}
