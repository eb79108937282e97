/** Reads further facts from nodes: an earlier use of the sender's energy, and the energy of a transfer to a new holder. */
import { addressToHex, unusedAddress } from '../../platform/chain/address.js';
import { dynamicStepsIn } from '../../platform/chain/dynamic-energy.js';
import { transactionReportOf } from '../../platform/chain/transaction-report.js';
import { transferCall } from '../../platform/chain/transfer-call.js';
import type { TronClient } from '../../platform/chain/tron.client.js';
import type { TronNode } from '../../platform/chain/node.js';
import type { TokenCall } from '../quotes/token-call.js';
import type { EarlierUse, ExecutedReport, TransferFigures } from './explain-facts.js';

/** A minute of the chain. A block of main net is half a megabyte, so an older use is proven by its amount alone. */
const BLOCKS_BACK = 20;
const PARAMETERS_PATH = 'wallet/getchainparameters';
/** Calls of the sender that are looked up. */
const CALLS_MAX = 5;

/** Returns the latest earlier call of the sender that used staked or rented energy, from `begun` on. */
export async function earlierUseOf(
  chain: TronClient,
  { owner, txid, execution }: ExecutedReport,
  begun: number,
): Promise<EarlierUse | undefined> {
  const ownerHex = addressToHex(owner);
  const newest = execution.blockNumber;
  const oldest = Math.max(begun, newest - BLOCKS_BACK, 1);
  return chain.pool.ask('wallet/getblockbynum', async (node) => {
    let looked = 0;
    for (let number = newest; number >= oldest; number -= 1) {
      for (const candidate of await callsIn(node, number, ownerHex, txid)) {
        looked += 1;
        if (looked > CALLS_MAX) return undefined;
        const energy = (await transactionReportOf(node, candidate))?.execution?.stakedEnergy ?? 0n;
        if (energy > 0n) return { txid: candidate, energy };
      }
    }
    return undefined;
  });
}

/** Returns the ids of the sender's calls in a block, the last first; in the transaction's own block only those before it. */
async function callsIn(node: TronNode, number: number, ownerHex: string, txid: string): Promise<readonly string[]> {
  const transactions = (await node.blocks.block('full', number))?.transactions ?? [];
  const own = transactions.findIndex((each) => each.txid === txid);
  const earlier = own < 0 ? transactions : transactions.slice(0, own);
  return earlier
    .filter(({ caller }) => caller === ownerHex)
    .map((each) => each.txid)
    .reverse();
}

/**
 * Returns the energy of a transfer to a holder and to an unused address, both without surcharge; undefined if neither the
 * sender nor the recipient can make one now. A holder sends to itself, whose balance entry exists.
 */
export async function transferFiguresOf(
  chain: TronClient,
  { from, to }: TokenCall,
  contractAddress: string,
): Promise<TransferFigures | undefined> {
  const plain = async (sender: string, recipient: string): Promise<bigint | undefined> => {
    const outcome = await chain.simulate(transferCall(contractAddress, sender, recipient, 1n));
    return outcome.kind === 'success' ? outcome.energyUsed - outcome.energyPenalty : undefined;
  };
  for (const sender of [from, to]) {
    const toHolder = await plain(sender, sender);
    const toOther = toHolder === undefined ? undefined : await plain(sender, unusedAddress());
    if (toHolder === undefined || toOther === undefined) continue;
    const { dynamicMax } = await chain.pool.ask(PARAMETERS_PATH, async (node) =>
      dynamicStepsIn(node.name, await node.postFull(PARAMETERS_PATH, {})),
    );
    return { recipient: to, toHolder, toOther, dynamicMax };
  }
  return undefined;
}
