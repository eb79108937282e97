/**
 * Proof that a transaction can never be included (Contract 10). TRON: a block may hold it only while its expiration is
 * later than the parent's timestamp. So first a solid head at or past the expiration, THEN absence on the same node;
 * in the other order a pause between the two questions would be a hole.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { Block, BlockHead } from '../chain/block.js';
import { NodeFault } from '../chain/errors.js';
import type { TronNode } from '../chain/node.js';
import { solidBlockOf, solidHeadOf, solidPlaceOf, TronClient } from '../chain/tron.client.js';
import { crashPoint } from '../crash-point.js';
import type { WorkTx } from './work-order.js';

/** What one node said, in the order it was asked. */
export interface Absence {
  readonly node: string;
  readonly solidHead: BlockHead;
}

/** Stored with the dead transaction; checkable by anyone with a node. */
export interface DeathEvidence {
  readonly expiresAtMs: number;
  readonly absences: readonly Absence[];
  /** With one node only: its solid blocks from the reference block on, read one by one. */
  readonly scanned?: { readonly from: number; readonly to: number };
}

export type Verdict =
  | { readonly kind: 'dead'; readonly evidence: DeathEvidence }
  | { readonly kind: 'found'; readonly blockNumber: number }
  | { readonly kind: 'unknown'; readonly why: string };

/** 60 s of validity and some 57 s to solidity are about 45 blocks; far more means something else is wrong. */
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
  /** Solid blocks never change: read once per node, kept for the neighbours' proofs. */
  private readonly scanned = new Map<string, Promise<ScannedBlock | undefined>>();

  constructor(@Inject(TronClient) private readonly client: TronClient) {}

  /** Judges one transaction; asks as many operators' nodes as are configured, two at most. Never throws for a node. */
  async judge(tx: WorkTx): Promise<Verdict> {
    // Two names of one solid port would be the same word twice.
    const nodes = this.client.pool.nodes.filter(
      (node, index, all) => all.findIndex(({ witness }) => witness === node.witness) === index,
    );
    const needed = Math.min(2, nodes.length);
    const absences: Absence[] = [];
    let last = 'no node answered';
    let witness: TronNode | undefined;
    for (const node of nodes) {
      if (absences.length >= needed) break;
      const answer = await this.ask(node, tx);
      if (answer.kind === 'found') return answer;
      if (answer.kind === 'unknown') last = answer.why;
      else {
        absences.push({ node: node.name, solidHead: answer.solidHead });
        witness = node;
      }
    }
    if (absences.length < needed || witness === undefined) return { kind: 'unknown', why: last };
    if (needed > 1) return { kind: 'dead', evidence: { expiresAtMs: tx.expiresAtMs, absences } };
    return this.scan(witness, tx, absences);
  }

  private async ask(
    node: TronNode,
    tx: WorkTx,
  ): Promise<
    { kind: 'absent'; solidHead: BlockHead } | { kind: 'found'; blockNumber: number } | { kind: 'unknown'; why: string }
  > {
    try {
      const { number, id, timestampMs } = await solidHeadOf(node);
      crashPoint('proof-head.after');
      if (timestampMs < tx.expiresAtMs)
        return { kind: 'unknown', why: `${node.name} is not solid past the expiration` };
      const place = await solidPlaceOf(node, tx.txid);
      crashPoint('proof-absence.after');
      if (place !== undefined) return { kind: 'found', blockNumber: place.blockNumber };
      return { kind: 'absent', solidHead: { number, id, timestampMs } };
    } catch (error) {
      if (error instanceof NodeFault) return { kind: 'unknown', why: error.message };
      throw error;
    }
  }

  /**
   * One node's word alone is not enough: every solid block that could hold the transaction is read, linked by parent
   * hash, from its reference block (no block before that one may hold it) to the first past its expiration.
   */
  private async scan(node: TronNode, tx: WorkTx, absences: readonly Absence[]): Promise<Verdict> {
    const headNumber = absences[0]?.solidHead.number ?? 0;
    const from = tx.refBlockNumber + 1;
    let previous: ScannedBlock | undefined;
    try {
      for (let number = from; number <= headNumber; number += 1) {
        if (number - from > SCAN_BLOCKS_MAX) return { kind: 'unknown', why: 'too many blocks to scan' };
        const block = await this.solidBlock(node, number);
        if (block === undefined) return { kind: 'unknown', why: `${node.name} lacks a solid block` };
        if (previous !== undefined && block.parentId !== previous.id) {
          this.scanned.clear();
          return { kind: 'unknown', why: `${node.name} gave blocks that do not link` };
        }
        if (block.txids.has(tx.txid)) return { kind: 'found', blockNumber: number };
        previous = block;
        if (block.timestampMs >= tx.expiresAtMs) {
          return { kind: 'dead', evidence: { expiresAtMs: tx.expiresAtMs, absences, scanned: { from, to: number } } };
        }
      }
    } catch (error) {
      if (error instanceof NodeFault) return { kind: 'unknown', why: error.message };
      throw error;
    }
    return { kind: 'unknown', why: `${node.name} has no solid block past the expiration` };
  }

  /** A solid block, asked for once however many proofs want it; what was not there is asked for again. */
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
