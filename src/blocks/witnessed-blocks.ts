/**
 * Blocks with the payments in them, by the word of enough nodes. A receipt is vouched for by no block id, so that
 * two nodes must name the same payments where two are configured; with one of two away, nobody reads on. What
 * transactions cost us is one node's word: a wrong one costs nobody money.
 */
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { majorityOf } from '../chain/agreement.js';
import { ChainUnavailableError, NodeError } from '../chain/errors.js';
import type { BlockHead } from '../chain/block.js';
import { executedBlockOf, type ExecutedBlock } from '../chain/executed-block.js';
import type { PortName } from '../chain/node-blocks.js';
import type { TronNode } from '../chain/node.js';
import type { Transfer } from '../chain/transfers.js';
import { solidHeadOf, TronClient } from '../chain/tron.client.js';
import { SolidBlocks } from './solid-blocks.js';

export interface Payment extends Transfer {
  readonly txid: string;
  /** Said by two nodes, or by the only one there is. TRX by contracts is seen only by nodes that keep it. */
  readonly isAgreed: boolean;
}

/** What a transaction burnt of an address of ours. */
export interface Fee {
  readonly txid: string;
  readonly address: string;
  readonly amount: bigint;
}

/** Of whom anything is to be seen in a block. */
export interface Watched {
  /** What an address was sent, sent and burnt. */
  readonly payments: (address: string) => boolean;
  /** What each transaction of an address burnt, which may be nothing. */
  readonly costs?: (address: string) => boolean;
}

export interface WitnessedBlock {
  readonly number: number;
  readonly id: string;
  readonly parentId: string;
  readonly timestampMs: number;
  /** To an address that is wanted, or from one. */
  readonly payments: readonly Payment[];
  readonly fees: readonly Fee[];
  /** By the word of one node. */
  readonly costs: readonly Fee[];
  /** Whoever called a contract, by the word of one node: hex of 21 bytes, each once. */
  readonly callers: readonly string[];
  /** Whether enough nodes have kept internal transactions of it, whoever they are of. */
  readonly hasInternal: boolean;
}

type Seen = Omit<Payment, 'isAgreed'>;

interface Testimony {
  readonly node: TronNode;
  readonly block: Omit<WitnessedBlock, 'payments' | 'hasInternal'>;
  readonly payments: readonly Seen[];
  readonly hasInternal: boolean;
  /** Equal where two nodes agree on everything but what contracts sent. */
  readonly says: string;
}

@Injectable()
export class WitnessedBlocks {
  constructor(
    private readonly client: TronClient,
    private readonly solid: SolidBlocks,
  ) {}

  /** Whether one node's word is all there is. */
  get isByOneNode(): boolean {
    return this.client.pool.agreement.witnesses.length < 2;
  }

  private get needed(): number {
    return this.isByOneNode ? 1 : 2;
  }

  /** The highest block of this chain that enough nodes have. Throws ChainUnavailableError. */
  async height(port: PortName = 'solid'): Promise<number> {
    const heads = await this.each(`the ${port} head`, async (node) => (await node.blocks.head(port)).number);
    return heads.sort((a, b) => b - a)[this.isByOneNode ? 0 : 1] ?? 0;
  }

  /** The solid head of whichever node answers. Throws ChainUnavailableError. */
  async headByOne(): Promise<BlockHead> {
    return this.client.pool.ask('the solid head', (node) => solidHeadOf(node));
  }

  /** The solid block at a height as one node has it; no payment in it is agreed. Throws ChainUnavailableError. */
  async readByOne(number: number, watched: Watched): Promise<WitnessedBlock> {
    const what = `the solid block ${number.toString()}`;
    const testimony = await this.client.pool.ask(what, async (node) =>
      testify(node, await this.solid.executed(node, number), watched),
    );
    const { block, payments, hasInternal } = testimony;
    return { ...block, payments: payments.map((seen) => ({ ...seen, isAgreed: false })), hasInternal };
  }

  /** The block at a height, and what is `watched` of it. Throws ChainUnavailableError. */
  async read(number: number, watched: Watched, port: PortName = 'solid'): Promise<WitnessedBlock> {
    const what = `the ${port} block ${number.toString()}`;
    const testimonies = await this.each(what, async (node) =>
      testify(node, await this.at(node, number, port), watched),
    );
    const [first] = testimonies;
    const agreed = this.isByOneNode ? first?.says : majorityOf(testimonies);
    const agreeing = testimonies.filter(({ says }) => says === agreed);
    const [one] = agreeing;
    if (agreed === undefined || one === undefined) {
      this.doubt(number);
      const faults = testimonies.map(
        ({ node }) =>
          new NodeError(node.name, 'nonsense', 'another block, or other payments in it, than the other node'),
      );
      throw new ChainUnavailableError(`${what} as two nodes have it`, faults);
    }
    const keeping = agreeing.filter(({ hasInternal }) => hasInternal);
    return { ...one.block, payments: this.paymentsOf(agreeing), hasInternal: keeping.length >= this.needed };
  }

  /** Has what was read of solid blocks from this height on read anew, whoever is right about it. */
  doubt(number: number): void {
    for (const node of this.client.pool.nodes) this.solid.forgetFrom(node, number);
  }

  /** Blocks that are not solid may be others the next time. */
  private async at(node: TronNode, number: number, port: PortName): Promise<ExecutedBlock> {
    return port === 'solid' ? this.solid.executed(node, number) : executedBlockOf(node, number, port);
  }

  /**
   * Those of all who agree: what contracts sent may be kept by one of them alone, and is then for the operator to judge.
   * Where they differ on it, the smaller amount is the one that may be meant.
   */
  private paymentsOf(agreeing: readonly Testimony[]): readonly Payment[] {
    const payments = new Map<string, { readonly seen: Seen; readonly voices: number }>();
    for (const seen of agreeing.flatMap((each) => each.payments)) {
      const place = `${seen.txid} ${seen.kind} ${seen.position.toString()}`;
      const known = payments.get(place);
      if (known === undefined) payments.set(place, { seen, voices: 1 });
      else if (keyOf(known.seen) === keyOf(seen)) payments.set(place, { seen, voices: known.voices + 1 });
      else payments.set(place, { seen: seen.amount < known.seen.amount ? seen : known.seen, voices: 0 });
    }
    return [...payments.values()].map(({ seen, voices }) => ({ ...seen, isAgreed: voices >= this.needed }));
  }

  /** What enough witnesses answer; others may fail. */
  private async each<T>(what: string, ask: (node: TronNode) => Promise<T>): Promise<T[]> {
    const outcomes = await Promise.allSettled(this.client.pool.agreement.witnesses.map(ask));
    const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const faults = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    const unexpected = faults.find((fault) => !(fault instanceof NodeError));
    if (unexpected !== undefined) throw unexpected as Error;
    if (answers.length < this.needed) throw new ChainUnavailableError(what, faults);
    return answers;
  }
}

function testify(
  node: TronNode,
  { number, id, parentId, timestampMs, transactions, hasInternal }: ExecutedBlock,
  { payments: wanted, costs: isOurs = () => false }: Watched,
): Testimony {
  const payments = transactions.flatMap(({ txid, transfers }) =>
    transfers.flatMap((transfer): Seen[] =>
      wanted(transfer.to) || wanted(transfer.from) ? [{ ...transfer, txid }] : [],
    ),
  );
  const fees = transactions.flatMap(({ txid, owner, feeSun }): Fee[] =>
    owner !== undefined && feeSun > 0n && wanted(owner) ? [{ txid, address: owner, amount: feeSun }] : [],
  );
  const costs = transactions.flatMap(({ txid, owner, feeSun }): Fee[] =>
    owner !== undefined && isOurs(owner) ? [{ txid, address: owner, amount: feeSun }] : [],
  );
  const callers = [...new Set(transactions.flatMap(({ caller }) => caller ?? []))];
  const always = payments.filter(({ kind }) => kind !== 'internal').map(keyOf);
  const burnt = fees.map(({ txid, amount }) => `${txid} burnt ${amount.toString()}`);
  const says = [id, parentId, timestampMs.toString(), ...always.sort(), ...burnt.sort()].join('\n');
  return {
    node,
    block: { number, id, parentId, timestampMs, fees, costs, callers },
    payments,
    hasInternal,
    says: createHash('sha256').update(says).digest('hex'),
  };
}

/** All of a transfer, as text. */
function keyOf({ txid, kind, position, contract, from, to, amount }: Seen): string {
  return [txid, kind, position, contract ?? '', from, to, amount].join(' ');
}
