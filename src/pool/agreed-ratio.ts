/**
 * The network's two totals, which decide how much stake is delegated. Whoever read them last is believed while they stay
 * where enough nodes last agreed that they were; a step away from there is taken when enough nodes have made it. Owns
 * where they agreed.
 */
import { ChainUnavailableError } from '../chain/errors.js';
import type { TronNode } from '../chain/node.js';
import { resourcesOf, type TronClient } from '../chain/tron.client.js';
import type { EnergyRatio } from './energy-ratio.js';

/** By how much less or more energy a stake is worth, in 1/100, before one node's word is not enough. Stake moves by a millionth in a block. */
const STEP_PERCENT = 1n;

export const DOUBTFUL_RATIO = 'nodes do not agree on the energy of the network: the last that they agreed on stays';

export class AgreedRatio {
  private agreed: EnergyRatio | undefined;

  /** `onDoubt`: called when nodes do not agree on a step; for the log. */
  constructor(
    private readonly client: TronClient,
    private readonly onDoubt: (nodes: readonly string[]) => void,
  ) {}

  /** The totals as the resources of any existing account show them. Throws ChainUnavailableError, also while nodes contradict each other from the start. */
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
    // Whoever has only just begun knows no other totals, and takes the word of those that are there.
    const isEnough = this.agreed === undefined || agreement.suffices(witnessesAmong(agreement.witnesses, nodes));
    const [first] = most;
    if (first !== undefined && most.length * 2 > answers.length && isEnough) {
      const { totalEnergyLimit, totalEnergyWeight } = first.ratio;
      return (this.agreed = { totalEnergyLimit, totalEnergyWeight });
    }
    this.onDoubt(answers.map(({ node }) => node.name));
    if (this.agreed === undefined) throw new ChainUnavailableError('the energy of the network', []);
    return this.agreed;
  }
}

function witnessesAmong(witnesses: readonly TronNode[], nodes: readonly TronNode[]): readonly TronNode[] {
  return witnesses.filter(({ witness }) => nodes.some((node) => node.witness === witness));
}

/** Whether a stake is worth as much energy by both, to a hundredth. */
function isNear(one: EnergyRatio, other: EnergyRatio): boolean {
  const [a, b] = [one.totalEnergyLimit * other.totalEnergyWeight, other.totalEnergyLimit * one.totalEnergyWeight];
  const apart = a > b ? a - b : b - a;
  return b > 0n && apart * 100n <= b * STEP_PERCENT;
}
