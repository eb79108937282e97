/**
 * The network's two totals that decide how much stake a delegation needs. Remembers the last totals that enough nodes
 * agreed on. One node's answer is accepted while it stays near them; a larger step needs agreement.
 */
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import type { TronNode } from '../../platform/chain/node.js';
import { resourcesOf, type TronClient } from '../../platform/chain/tron.client.js';
import type { EnergyRatio } from './energy-ratio.js';

/**
 * Largest change of a stake's energy value, in 1/100, that one node may report alone. Real stake moves by a millionth
 * in a block.
 */
const STEP_PERCENT = 1n;

export const DOUBTFUL_RATIO = 'nodes disagree on the energy of the network';
export const DOUBTFUL_RATIO_EFFECT = 'the last agreed ratio stays in use';

export class AgreedRatio {
  private agreed: EnergyRatio | undefined;

  /** `onDoubt` receives the node names when nodes do not agree on a step; for the log. */
  constructor(
    private readonly client: TronClient,
    private readonly onDoubt: (nodes: readonly string[]) => void,
  ) {}

  /**
   * Returns the totals from the resources of any existing account. Throws ChainUnavailableError, also if nodes
   * contradict each other before any agreement.
   */
  async read(address: string): Promise<EnergyRatio> {
    const { totalEnergyLimit, totalEnergyWeight } = await this.client.accountResources(address);
    const said = { totalEnergyLimit, totalEnergyWeight };
    return this.agreed !== undefined && isNear(said, this.agreed) ? said : this.agree(address);
  }

  private async agree(address: string): Promise<EnergyRatio> {
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
      const { totalEnergyLimit, totalEnergyWeight } = first.ratio;
      return (this.agreed = { totalEnergyLimit, totalEnergyWeight });
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

/** Returns true if both ratios give a stake the same energy to within one hundredth. */
function isNear(one: EnergyRatio, other: EnergyRatio): boolean {
  const [a, b] = [one.totalEnergyLimit * other.totalEnergyWeight, other.totalEnergyLimit * one.totalEnergyWeight];
  const apart = a > b ? a - b : b - a;
  return b > 0n && apart * 100n <= b * STEP_PERCENT;
}
