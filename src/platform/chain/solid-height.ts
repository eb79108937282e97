/** Determines the highest solid block that enough of the currently answering nodes have. */
import { ignoreNodeError } from './errors.js';
import type { NodePool } from './node-pool.js';
import type { TronNode } from './node.js';
import { solidHeadOf } from './tron.client.js';

/** A height, and the nodes that have the blocks up to it. */
export interface SolidHeight {
  readonly number: number;
  readonly node: TronNode;
  /** Other witnesses that have them too. */
  readonly others: readonly TronNode[];
}

/**
 * Returns the highest solid block that two witnesses have, or that the only answering one has. A lagging witness that
 * answers is waited for until its solid head counts as stalled: with two nodes, it is unknown which one is wrong. A
 * silent witness is not waited for. Throws ChainUnavailableError.
 */
export async function solidHeightOf(pool: NodePool): Promise<SolidHeight> {
  const { agreement } = pool;
  const first = await pool.ask('the solid head', async (node) => ({ node, number: (await solidHeadOf(node)).number }));
  const heads = await Promise.all(
    agreement.witnesses.map(async (witness) => {
      if (witness.witness === first.node.witness) return { ...first, witness };
      const head = await solidHeadOf(witness).catch(ignoreNodeError);
      return head === undefined ? [] : { node: witness, number: head.number, witness };
    }),
  );
  const answered = heads.flat().sort((a, b) => b.number - a.number);
  const isOut = (node: TronNode): boolean =>
    agreement.isSolidStalled(node) || answered.every(({ witness }) => witness.witness !== node.witness);
  const reached = answered.findIndex((_, index) =>
    agreement.suffices(
      answered.slice(0, index + 1).map(({ witness }) => witness),
      isOut,
    ),
  );
  const { number } = answered[reached] ?? first;
  const having = answered.filter((head) => head.number >= number).map(({ node }) => node);
  const node = having.includes(first.node) ? first.node : (having[0] ?? first.node);
  return { number, node, others: having.filter((other) => other !== node) };
}
