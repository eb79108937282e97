/**
 * Sends recorded bytes to nodes and keeps what they say. A node's answer, good or bad, proves nothing (TRON: a refused
 * transaction may live in a mempool, an accepted one may vanish), so nothing here decides about an order.
 */
import { Inject, Injectable } from '@nestjs/common';
import { NodeFault } from '../chain/errors.js';
import { signedTransactionHex } from '../chain/signed-transaction.js';
import { TronClient } from '../chain/tron.client.js';
import type { TronNode } from '../chain/node.js';
import { crashPoint } from '../crash-point.js';
import { messageOf } from '../errors.js';
import { inLanes } from './lanes.js';
import type { BroadcastRecord } from './transaction-log.js';

export interface Sendable {
  readonly id: bigint;
  readonly rawData: Buffer;
  readonly signature: Buffer;
}

const PARALLEL_MAX = 32;
const MESSAGE_LENGTH_MAX = 300;
const ACCEPTED = 'SUCCESS';
/** TRON: in this node's mempool or chain, or only in its cache of ids; asking another node settles nothing either. */
const KNOWN = 'DUP_TRANSACTION_ERROR';

@Injectable()
export class Broadcaster {
  constructor(@Inject(TronClient) private readonly client: TronClient) {}

  /**
   * Sends each to the best node, and to the next ones while a node does not take it. `everywhere` sends to all
   * healthy nodes at once: for bytes that the first sending did not bring into a block.
   */
  async send(items: readonly Sendable[], everywhere: boolean): Promise<BroadcastRecord[]> {
    const records: BroadcastRecord[] = [];
    await inLanes(items, PARALLEL_MAX, async (item) => {
      records.push(...(await this.sendOne(item, everywhere)));
    });
    return records;
  }

  private async sendOne(item: Sendable, everywhere: boolean): Promise<BroadcastRecord[]> {
    const hex = signedTransactionHex(item.rawData, item.signature);
    const nodes = this.client.pool.healthy();
    crashPoint('broadcast.before');
    if (everywhere) return Promise.all(nodes.map(async (node) => this.tell(node, item.id, hex)));
    const records: BroadcastRecord[] = [];
    for (const node of nodes) {
      const record = await this.tell(node, item.id, hex);
      records.push(record);
      if (record.answer === ACCEPTED || record.answer === KNOWN) break;
    }
    return records;
  }

  private async tell(node: TronNode, txId: bigint, hex: string): Promise<BroadcastRecord> {
    const record = await this.ask(node, hex);
    crashPoint('broadcast.after');
    return { txId, node: node.name, ...record };
  }

  private async ask(node: TronNode, hex: string): Promise<{ answer: string; message: string | undefined }> {
    try {
      const json = await node.broadcastHex(hex);
      const code = typeof json['code'] === 'string' ? json['code'] : json['result'] === true ? ACCEPTED : 'UNREADABLE';
      const message = typeof json['message'] === 'string' ? readable(json['message']) : undefined;
      return { answer: code.slice(0, 64), message: message === '' ? undefined : message };
    } catch (error) {
      const kind = error instanceof NodeFault ? error.kind : 'failed';
      return { answer: `NO_ANSWER:${kind}`, message: messageOf(error).slice(0, MESSAGE_LENGTH_MAX) };
    }
  }
}

/** TRON: a refusal's message is hex unless the request was made with `visible`. */
function readable(message: string): string {
  const text = /^(?:[0-9a-f]{2})+$/i.test(message) ? Buffer.from(message, 'hex').toString('utf8') : message;
  return text.slice(0, MESSAGE_LENGTH_MAX);
}
