/**
 * Blocks with their payments, as enough nodes report them. A block's id does not cover its receipts, so two nodes must
 * report the same payments where two are configured. With one of two away, reading stops. Our own transaction costs are
 * taken from one node: a wrong cost moves no money.
 */
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { majorityOf } from '../chain/agreement.js';
import { ChainUnavailableError, NodeError, answersIn } from '../chain/errors.js';
import type { BlockHead } from '../chain/block.js';
import { executedBlockOf, type ExecutedBlock, type ExecutedTransaction } from '../chain/executed-block.js';
import type { PortName } from '../chain/node-blocks.js';
import type { TronNode } from '../chain/node.js';
import { solidHeadOf, TronClient } from '../chain/tron.client.js';
import { agreedPayments, paymentKey, type Payment, type ReportedPayment } from './agreed-payments.js';
import { SolidBlocks } from './solid-blocks.js';

/** TRX that a transaction burnt from one of our addresses. */
export interface Fee {
  readonly txid: string;
  readonly address: string;
  readonly amount: bigint;
}

/** Energy that the calls of one address took from its stake and rentals. */
export interface EnergyUse {
  /** Hex of 21 bytes. */
  readonly caller: string;
  readonly energy: bigint;
  /** Calls that took some. */
  readonly calls: number;
}

/** The addresses to report on. */
export interface Watched {
  /** Incoming and outgoing payments and burnt fees of an address. */
  readonly payments: (address: string) => boolean;
  /** The burnt fee of each transaction of an address, even if it is zero. */
  readonly costs?: (address: string) => boolean;
}

export interface WitnessedBlock {
  readonly number: number;
  readonly id: string;
  readonly parentId: string;
  readonly timestampMs: number;
  /** Payments to or from a watched address. */
  readonly payments: readonly Payment[];
  readonly fees: readonly Fee[];
  /** As reported by one node. */
  readonly costs: readonly Fee[];
  /** Callers of contracts, as reported by one node: hex of 21 bytes, without duplicates. */
  readonly callers: readonly string[];
  /** As reported by one node, one for each caller that took energy. */
  readonly energyUses: readonly EnergyUse[];
  /** True if enough nodes kept internal transactions of this block, for any address. */
  readonly hasInternal: boolean;
}

interface Testimony {
  readonly node: TronNode;
  readonly block: Omit<WitnessedBlock, 'payments' | 'hasInternal'>;
  readonly payments: readonly ReportedPayment[];
  readonly hasInternal: boolean;
  /** Equal where two nodes agree on everything except internal transactions. */
  readonly says: string;
}

@Injectable()
export class WitnessedBlocks {
  constructor(
    private readonly client: TronClient,
    private readonly solid: SolidBlocks,
  ) {}

  /** True if only one witness is configured. */
  get isByOneNode(): boolean {
    return this.client.pool.agreement.witnesses.length < 2;
  }

  private get needed(): number {
    return this.isByOneNode ? 1 : 2;
  }

  /** Returns the highest block of this port's chain that enough nodes have. Throws ChainUnavailableError. */
  async readHeight(port: PortName = 'solid'): Promise<number> {
    const heads = await this.askWitnesses(`the ${port} head`, async (node) => (await node.blocks.head(port)).number);
    return heads.sort((a, b) => b - a)[this.isByOneNode ? 0 : 1] ?? 0;
  }

  /** Returns the solid head of any node that answers. Throws ChainUnavailableError. */
  async readHeadByOneNode(): Promise<BlockHead> {
    return this.client.pool.ask('the solid head', (node) => solidHeadOf(node));
  }

  /**
   * Returns the solid block at a height as one node has it, with no payment marked as agreed. Throws
   * ChainUnavailableError.
   */
  async readByOneNode(number: number, watched: Watched): Promise<WitnessedBlock> {
    const what = `the solid block ${number.toString()}`;
    const testimony = await this.client.pool.ask(what, async (node) =>
      testify(node, await this.solid.executed(node, number), watched),
    );
    const { block, payments, hasInternal } = testimony;
    return { ...block, payments: payments.map((seen) => ({ ...seen, isAgreed: false })), hasInternal };
  }

  /** Returns the block at a height with its `watched` data. Throws ChainUnavailableError. */
  async read(number: number, watched: Watched, port: PortName = 'solid'): Promise<WitnessedBlock> {
    const what = `the ${port} block ${number.toString()}`;
    const testimonies = await this.askWitnesses(what, async (node) =>
      testify(node, await this.readBlock(node, number, port), watched),
    );
    const [first] = testimonies;
    const agreed = this.isByOneNode ? first?.says : majorityOf(testimonies);
    const agreeing = testimonies.filter(({ says }) => says === agreed);
    const [one] = agreeing;
    if (agreed === undefined || one === undefined) {
      this.forgetFrom(number);
      const faults = testimonies.map(
        ({ node }) =>
          new NodeError(node.name, 'nonsense', 'another block, or other payments in it, than the other node'),
      );
      throw new ChainUnavailableError(`${what} as two nodes have it`, faults);
    }
    const keeping = agreeing.filter(({ hasInternal }) => hasInternal);
    const payments = agreedPayments(
      agreeing.map((each) => each.payments),
      this.needed,
    );
    return { ...one.block, payments, hasInternal: keeping.length >= this.needed };
  }

  /** Drops the cached solid blocks of all nodes from this height on, so that they are read again. */
  forgetFrom(number: number): void {
    for (const node of this.client.pool.nodes) this.solid.forgetFrom(node, number);
  }

  /** Blocks that are not solid are never cached: they may be replaced. */
  private async readBlock(node: TronNode, number: number, port: PortName): Promise<ExecutedBlock> {
    return port === 'solid' ? this.solid.executed(node, number) : executedBlockOf(node, number, port);
  }

  /**
   * Returns the answers of the witnesses. Throws ChainUnavailableError unless enough of them answer; others may fail.
   */
  private async askWitnesses<T>(what: string, ask: (node: TronNode) => Promise<T>): Promise<T[]> {
    const outcomes = await Promise.allSettled(this.client.pool.agreement.witnesses.map(ask));
    return answersIn(outcomes, what, this.needed);
  }
}

function testify(
  node: TronNode,
  { number, id, parentId, timestampMs, transactions, hasInternal }: ExecutedBlock,
  { payments: wanted, costs: isOurs = () => false }: Watched,
): Testimony {
  const payments = transactions.flatMap(({ txid, transfers }) =>
    transfers.flatMap((transfer): ReportedPayment[] =>
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
  const always = payments.filter(({ kind }) => kind !== 'internal').map(paymentKey);
  const burnt = fees.map(({ txid, amount }) => `${txid} burnt ${amount.toString()}`);
  const says = [id, parentId, timestampMs.toString(), ...always.sort(), ...burnt.sort()].join('\n');
  return {
    node,
    block: { number, id, parentId, timestampMs, fees, costs, callers, energyUses: energyUsesOf(transactions) },
    payments,
    hasInternal,
    says: createHash('sha256').update(says).digest('hex'),
  };
}

function energyUsesOf(transactions: readonly ExecutedTransaction[]): EnergyUse[] {
  const uses = new Map<string, EnergyUse>();
  for (const { caller, stakedEnergy } of transactions) {
    if (caller === undefined || stakedEnergy === 0n) continue;
    const { energy, calls } = uses.get(caller) ?? { energy: 0n, calls: 0 };
    uses.set(caller, { caller, energy: energy + stakedEnergy, calls: calls + 1 });
  }
  return [...uses.values()];
}

/** Returns all members of a transfer as text. */
