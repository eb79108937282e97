// Read endpoints for witnesses, votes and rewards.
import { accountAt } from './accounts.js';
import { Base58Error, hexOfBase58 } from './address.js';
import { producersOf } from './block.js';
import type { Handler } from './http.js';
import { type Json, type JsonNode, member, textOf } from './json.js';
import { notHex } from './json-format.js';
import type { NodeView } from './node-view.js';
import { printAddress, sparse } from './reads.js';
import { pendingReward } from './rewards.js';
import { DEFAULT_BROKERAGE, type Witness, maintenanceAt, witnessAt, witnessesAt } from './witnesses.js';

/** An address that getReward or getBrokerage cannot read, with the decoder's message. */
class UnreadableAddress extends Error {}

/**
 * Returns the `address` in either form, whatever `visible` says; undefined without one, or for a wrong checksum. TRON:
 * Util.getAddress.
 */
function addressOf(body: JsonNode): string | undefined {
  const given = textOf(member(body, 'address')) ?? '';
  if (given.trim() === '') return undefined;
  if (given.startsWith('41')) {
    if (/^([0-9a-fA-F]{2})*$/.test(given)) return given.toLowerCase();
    throw new UnreadableAddress(notHex().message);
  }
  try {
    return hexOfBase58(given) ?? undefined;
  } catch (error) {
    throw error instanceof Base58Error ? new UnreadableAddress(error.message) : error;
  }
}

/** Answers about an address. TRON: GetRewardServlet and GetBrokerageServlet print their own text, zeros included. */
function aboutAddress(answer: (address: string | undefined) => Json): Handler {
  return ({ body }) => {
    try {
      return answer(addressOf(body));
    } catch (error) {
      if (error instanceof UnreadableAddress) return { Error: `INVALID address, ${error.message}` };
      throw error;
    }
  };
}

function printWitness(witness: Witness, isProducer: boolean, visible: boolean): Json {
  return sparse({
    address: printAddress(witness.address, visible),
    voteCount: witness.votes,
    totalProduced: witness.produced,
    latestBlockNum: witness.latestBlock,
    latestSlotNum: witness.latestSlot,
    isJobs: isProducer,
  });
}

export function printNextMaintenance(view: NodeView): Json {
  return sparse({ num: maintenanceAt(view.read(false).state)?.nextMs });
}

/** Returns the endpoints about witnesses that both ports have. */
export function votingReads(view: NodeView, isSolid: boolean): Record<string, Handler> {
  return {
    listwitnesses: ({ visible }) => {
      const producers = new Set(producersOf(view.chain.options.seed));
      const witnesses = witnessesAt(view.read(isSolid).state);
      return sparse({ witnesses: witnesses.map((w) => printWitness(w, producers.has(w.address), visible)) });
    },
    getReward: aboutAddress((address) => {
      const { state } = view.read(isSolid);
      const account = address === undefined ? undefined : accountAt(state, address);
      return { reward: account === undefined ? 0n : pendingReward(state, account) };
    }),
    getBrokerage: aboutAddress((address) => {
      if (address === undefined) return { brokerage: 0 };
      return { brokerage: witnessAt(view.read(isSolid).state, address)?.brokerage ?? DEFAULT_BROKERAGE };
    }),
  };
}
