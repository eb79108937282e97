/**
 * Proves that a transaction can never be included (docs/interface.md §21). TRON: a block may hold it only while its
 * expiration is later than the parent's timestamp. One witness, solid at or past the expiration, returns every block
 * that could hold it. THEN a second witness, itself solid past the expiration, does not know it. Head first, then
 * absence: in the other order the transaction could be included between the two reads. If any node has it, there is no
 * proof.
 */
import { Injectable } from '@nestjs/common';
import type { Block, BlockHead } from '../../../platform/chain/block.js';
import { NodeError, ignoreNodeError } from '../../../platform/chain/errors.js';
import { History } from '../../../platform/chain/history.js';
import type { TronNode } from '../../../platform/chain/node.js';
import {
  placeOf,
  solidBlockOf,
  solidHeadOf,
  solidPlaceOf,
  TronClient,
  type TransactionPlace,
} from '../../../platform/chain/tron.client.js';
import { Config } from '../../../platform/config/config.js';
import type { ClaimedTx } from '../loop/claimed-order.js';

/** One node's answer. The node was asked for its solid head first. */
export interface Absence {
  readonly node: string;
  readonly solidHead: BlockHead;
}

interface ScannedRange {
  readonly from: number;
  readonly to: number;
  /** The number of these blocks built after the transaction was. Each could have held it. */
  readonly whileValid: number;
}

/** Stored with the dead transaction. Any node can verify it. */
export interface DeathEvidence {
  readonly expiresAtMs: number;
  readonly absences: readonly Absence[];
  /** The solid blocks of one node from the reference block to the first past the expiration, read one by one. */
  readonly scanned: ScannedRange & { readonly node: string };
  /** Witnesses that were away for too long to wait for. The proof then rests on one node. */
  readonly away?: readonly { readonly node: string; readonly awaySec: number; readonly keepsHistory: boolean }[];
}

export type Verdict =
  | { readonly kind: 'dead'; readonly evidence: DeathEvidence }
  | { readonly kind: 'found'; readonly blockNumber: number }
  | { readonly kind: 'unknown'; readonly why: string };

type Answer =
  | { readonly kind: 'absent'; readonly node: TronNode; readonly solidHead: BlockHead; readonly keepsHistory: boolean }
  | { readonly kind: 'found'; readonly node: TronNode; readonly blockNumber: number }
  | { readonly kind: 'unknown'; readonly why: string };
type Absent = Extract<Answer, { kind: 'absent' }>;

type Scan = ({ readonly kind: 'nowhere' } & ScannedRange) | Extract<Verdict, { kind: 'found' | 'unknown' }>;

/** 60 s of validity and about 57 s to solidity are about 45 blocks. Far more blocks indicate another fault. */
const SCAN_BLOCKS_MAX = 2_000;
const CACHE_BLOCKS_MAX = 256;

interface ScannedBlock {
  readonly id: string;
  readonly parentId: string;
  readonly timestampMs: number;
  readonly txids: ReadonlySet<string>;
}

@Injectable()
export class Proofs {
  /** Solid blocks never change: read once per node and cached for the proofs of neighbouring transactions. */
  private readonly scanned = new Map<string, Promise<ScannedBlock | undefined>>();

  constructor(
    private readonly client: TronClient,
    private readonly history: History,
    private readonly config: Config,
  ) {}

  /** Judges one transaction by the answers of all witnesses. Never throws for a fault of a node. */
  async judge(tx: ClaimedTx): Promise<Verdict> {
    const { agreement } = this.client.pool;
    if (agreement.dispute !== undefined) return { kind: 'unknown', why: `disputed: ${agreement.dispute.what}` };
    const first = await this.askAll(agreement.witnesses, tx);
    if (first.kind !== 'absent') return first;
    let last = 'no node answered';
    // A node without history supplies no blocks either: its stored range is unknown.
    for (const scanner of first.answers.filter(({ keepsHistory }) => keepsHistory)) {
      const scan = await this.scan(scanner, tx);
      if (scan.kind === 'found') return scan;
      if (scan.kind === 'nowhere') return this.confirm(tx, scanner, scan);
      last = scan.why;
    }
    const lacking = first.answers.find(({ keepsHistory }) => !keepsHistory);
    return { kind: 'unknown', why: lacking === undefined ? last : `${lacking.node.name} keeps no history` };
  }

  /** Asks, after the block scan, if enough other witnesses do not know the transaction either. */
  private async confirm(
    tx: ClaimedTx,
    scanner: Absent,
    { from, to, whileValid }: Extract<Scan, { kind: 'nowhere' }>,
  ): Promise<Verdict> {
    const { agreement } = this.client.pool;
    const others = agreement.witnesses.filter(({ witness }) => witness !== scanner.node.witness);
    const second = others.length === 0 ? undefined : await this.askAll(others, tx);
    if (second?.kind === 'found') return second;
    const agreeing = second?.kind === 'absent' ? second.answers.filter(({ keepsHistory }) => keepsHistory) : [];
    const isOut = (node: TronNode): boolean => this.history.isOut(node, agreement);
    if (!agreement.suffices([scanner.node, ...agreeing.map(({ node }) => node)], isOut)) {
      return { kind: 'unknown', why: second?.kind === 'unknown' ? second.why : 'no second witness has answered' };
    }
    const away = agreeing.length > 0 ? [] : others;
    const place = await placeAtAny(away, tx);
    if (place !== undefined) return { kind: 'found', blockNumber: place.blockNumber };
    return {
      kind: 'dead',
      evidence: {
        expiresAtMs: tx.expiresAtMs,
        absences: [scanner, ...agreeing].map(({ node, solidHead }) => ({ node: node.name, solidHead })),
        scanned: { node: scanner.node.name, from, to, whileValid },
        ...(away.length > 0 && {
          away: away.map((node) => ({
            node: node.name,
            awaySec: Math.round(Math.max(node.awayMs, agreement.solidStalledMs(node)) / 1000),
            keepsHistory: this.history.lackingMs(node) === 0,
          })),
        }),
      },
    };
  }

  /** Combines the nodes' answers: found by one, absent at those listed, or unknown while no node can answer. */
  private async askAll(
    nodes: readonly TronNode[],
    tx: ClaimedTx,
  ): Promise<Extract<Verdict, { kind: 'found' | 'unknown' }> | { kind: 'absent'; answers: readonly Absent[] }> {
    const answers = await Promise.all(nodes.map(async (node) => this.ask(node, tx)));
    const absent = answers.filter((answer) => answer.kind === 'absent');
    const found = answers.find((answer) => answer.kind === 'found');
    if (found !== undefined) {
      const denying = absent.filter(
        ({ solidHead, keepsHistory }) => keepsHistory && solidHead.number >= found.blockNumber,
      );
      // With three or more witnesses, the one that contradicts all others is suspect. The proof fails anyway.
      if (denying.length === 1) {
        const nodes = [found.node, ...denying.map(({ node }) => node)];
        this.client.pool.agreement.report(`whether transaction ${tx.txid} is in a block`, nodes);
      }
      return { kind: 'found', blockNumber: found.blockNumber };
    }
    if (absent.length > 0) return { kind: 'absent', answers: absent };
    const unknown = answers.find((answer) => answer.kind === 'unknown');
    return { kind: 'unknown', why: unknown?.why ?? 'no node answered' };
  }

  private async ask(node: TronNode, tx: ClaimedTx): Promise<Answer> {
    try {
      const { number, id, timestampMs } = await solidHeadOf(node);
      if (timestampMs < tx.expiresAtMs)
        return { kind: 'unknown', why: `${node.name} is not solid past the expiration` };
      const place = await this.placeAt(node, tx);
      if (place !== undefined) return { kind: 'found', node, blockNumber: place.blockNumber };
      const keepsHistory = await this.history.keeps(node);
      return { kind: 'absent', node, solidHead: { number, id, timestampMs }, keepsHistory };
    } catch (error) {
      if (error instanceof NodeError) return { kind: 'unknown', why: error.message };
      throw error;
    }
  }

  /** Returns the transaction's place in the node's solid chain. Asked after the node's solid head, never before. */
  async placeAt(node: TronNode, tx: ClaimedTx): Promise<TransactionPlace | undefined> {
    return solidPlaceOf(node, tx.txid);
  }

  /**
   * Reads every solid block that could hold the transaction, linked by parent hash. Starts at its reference block,
   * which cannot hold it, nor can any earlier block. Ends at the first block past its expiration.
   */
  private async scan({ node, solidHead }: Absent, tx: ClaimedTx): Promise<Scan> {
    const from = tx.refBlockNumber;
    const builtAtMs = tx.expiresAtMs - this.config.chain.expirationSec * 1000;
    let whileValid = 0;
    let previous: ScannedBlock | undefined;
    try {
      for (let number = from; number <= solidHead.number; number += 1) {
        if (number - from > SCAN_BLOCKS_MAX) return { kind: 'unknown', why: 'too many blocks to scan' };
        const block = await this.solidBlock(node, number);
        if (block === undefined) return { kind: 'unknown', why: `${node.name} lacks a solid block` };
        if (previous !== undefined && block.parentId !== previous.id) {
          this.scanned.clear();
          return { kind: 'unknown', why: `${node.name} gave blocks that do not link` };
        }
        if (block.txids.has(tx.txid)) return { kind: 'found', blockNumber: number };
        previous = block;
        if (block.timestampMs > builtAtMs) whileValid += 1;
        if (block.timestampMs >= tx.expiresAtMs) return { kind: 'nowhere', from, to: number, whileValid };
      }
    } catch (error) {
      if (error instanceof NodeError) return { kind: 'unknown', why: error.message };
      throw error;
    }
    return { kind: 'unknown', why: `${node.name} has no solid block past the expiration` };
  }

  /** Returns a solid block, read once for all proofs. A missing block is read again on the next call. */
  private async solidBlock(node: TronNode, number: number): Promise<ScannedBlock | undefined> {
    const key = `${node.name}/${number.toString()}`;
    const asked = this.scanned.get(key) ?? readSolidBlock(node, number);
    this.scanned.set(key, asked);
    for (const oldest of this.scanned.keys()) {
      if (this.scanned.size <= CACHE_BLOCKS_MAX) break;
      this.scanned.delete(oldest);
    }
    try {
      const block = await asked;
      if (block === undefined) this.scanned.delete(key);
      return block;
    } catch (error) {
      this.scanned.delete(key);
      throw error;
    }
  }
}

/**
 * Returns the transaction's place on a full port. A node without solid blocks may still know it, and one witness's
 * answer must not overrule that.
 */
async function placeAtAny(nodes: readonly TronNode[], tx: ClaimedTx): Promise<TransactionPlace | undefined> {
  const places = await Promise.all(nodes.map(async (node) => placeOf(node, tx.txid).catch(ignoreNodeError)));
  return places.find((place) => place !== undefined);
}

async function readSolidBlock(node: TronNode, number: number): Promise<ScannedBlock | undefined> {
  const block: Block | undefined = await solidBlockOf(node, number);
  return (
    block && {
      id: block.id,
      parentId: block.parentId,
      timestampMs: block.timestampMs,
      txids: new Set(block.transactions.map((transaction) => transaction.txid)),
    }
  );
}
