/**
 * Sends recorded bytes to nodes and returns their answers. An answer proves nothing, so this class decides nothing
 * about an order. TRON: a refused transaction may live in a mempool, and an accepted one may vanish.
 */
import { Injectable } from '@nestjs/common';
import { NodeError } from '../../../platform/chain/errors.js';
import { signedTransactionHex } from '../../../platform/chain/signed-transaction.js';
import { TronClient } from '../../../platform/chain/tron.client.js';
import type { TronNode } from '../../../platform/chain/node.js';
import { messageOf } from '../../../domain/errors.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import { lineOf } from '../../../platform/support/foreign-text.js';
import type { BroadcastRecord } from './transaction-log.js';

export interface Sendable {
  readonly id: bigint;
  readonly rawData: Buffer;
  readonly signature: Buffer;
}

const PARALLEL_MAX = 32;
const ANSWER_LENGTH_MAX = 64;
const MESSAGE_LENGTH_MAX = 300;
const ACCEPTED = 'SUCCESS';
/**
 * TRON: the transaction is in this node's mempool or chain, or only in its cache of ids. Asking another node would not
 * settle it.
 */
const KNOWN = 'DUP_TRANSACTION_ERROR';
/** TRON: the signature is missing, wrong, or not (or no longer) allowed by the permission. */
export const SIGNATURE_REFUSED = 'SIGERROR';
const TIMED_OUT = 'NO_ANSWER:timeout';

@Injectable()
export class Broadcaster {
  constructor(private readonly client: TronClient) {}

  /**
   * Sends each transaction to the best node, and to the next nodes until one accepts it. `everywhere` sends to all
   * nodes concurrently: for bytes that the first send did not bring into a block. Returns a record for every attempt.
   */
  async send(items: readonly Sendable[], everywhere: boolean): Promise<BroadcastRecord[]> {
    const records: BroadcastRecord[] = [];
    await forEachConcurrently(items, PARALLEL_MAX, async (item) => {
      records.push(...(await this.sendOne(item, this.targets(records), everywhere)));
    });
    return records;
  }

  /** Omits nodes that timed out on an earlier transaction of the batch, unless no other node is left. */
  private targets(records: readonly BroadcastRecord[]): readonly TronNode[] {
    const nodes = this.client.pool.forBroadcast();
    const mute = new Set(records.flatMap(({ node, answer }) => (answer === TIMED_OUT ? node : [])));
    const others = nodes.filter((node) => !mute.has(node.name));
    return others.length > 0 ? others : nodes;
  }

  private async sendOne(item: Sendable, nodes: readonly TronNode[], everywhere: boolean): Promise<BroadcastRecord[]> {
    const hex = signedTransactionHex(item.rawData, item.signature);
    if (everywhere) return Promise.all(nodes.map(async (node) => this.sendTo(node, item.id, hex)));
    const records: BroadcastRecord[] = [];
    for (const node of nodes) {
      const record = await this.sendTo(node, item.id, hex);
      records.push(record);
      if (isAccepted(record.answer)) break;
    }
    return records;
  }

  private async sendTo(node: TronNode, txId: bigint, hex: string): Promise<BroadcastRecord> {
    const record = await this.ask(node, hex);
    return { txId, node: node.name, ...record };
  }

  private async ask(
    node: TronNode,
    hex: string,
  ): Promise<{ answer: string; message: string | undefined; isSent: boolean }> {
    try {
      const json = await node.broadcastHex(hex);
      const code = typeof json['code'] === 'string' ? json['code'] : json['result'] === true ? ACCEPTED : 'UNREADABLE';
      const message = typeof json['message'] === 'string' ? readable(json['message']) : undefined;
      return { answer: lineOf(code, ANSWER_LENGTH_MAX), message: message === '' ? undefined : message, isSent: true };
    } catch (error) {
      const { kind, isSent } = error instanceof NodeError ? error : { kind: 'failed', isSent: true };
      const answer = `${isSent ? 'NO_ANSWER' : 'NOT_SENT'}:${kind}`;
      return { answer, message: lineOf(messageOf(error), MESSAGE_LENGTH_MAX), isSent };
    }
  }
}

/** Returns true if the node claims to have the transaction, which proves nothing. */
export function isAccepted(answer: string): boolean {
  return answer === ACCEPTED || answer === KNOWN;
}

/** Returns the ids of `items` that may have reached a node. The others certainly reached none. */
export function answeredIds(
  items: readonly { readonly id: bigint }[],
  records: readonly BroadcastRecord[],
): Set<bigint> {
  const heard = new Set(records.flatMap(({ txId, isSent }) => (isSent ? txId : [])));
  return new Set(items.flatMap(({ id }) => (heard.has(id) ? id : [])));
}

/** TRON: the message of a refusal is hex unless the request set `visible`. */
function readable(message: string): string {
  const text = /^(?:[0-9a-f]{2})+$/i.test(message) ? Buffer.from(message, 'hex').toString('utf8') : message;
  return lineOf(text, MESSAGE_LENGTH_MAX);
}
