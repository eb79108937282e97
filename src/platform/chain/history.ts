/**
 * Checks that a node keeps transaction history: it must know a given final transaction. TRON: a node with
 * `storage.transHistory.switch = off`, or a pruned one, answers `{}` for every transaction, which proves nothing.
 */
import { monotonicMs } from '../support/clock.js';
import type { Agreement } from './agreement.js';
import { NO_ANSWER, NodeError } from './errors.js';
import type { TronNode } from './node.js';
import { solidBlockOf, solidHeadOf, solidPlaceOf } from './tron.client.js';

/** A transaction that is certainly final. */
export interface FinalTx {
  readonly txid: string;
  readonly blockNumber: number;
}

interface Judged {
  readonly keeps: boolean;
  readonly atMs: number;
  /** The time since which the node has been without history. */
  readonly lackingSinceMs: number | undefined;
}

/** Lifetimes of a cached positive and negative result. */
const KEEPS_MS = 300_000;
const LACKS_MS = 10_000;
/** TRON: a day of blocks. A node may have deleted older ones and still keep everything that a proof needs. */
const RECENT_BLOCKS = 28_800;
const BLOCKS_BACK = 1_000;
/** This many blocks without a transaction mean a chain with nothing to check against. */
const BLOCKS_READ_MAX = 20;

export class History {
  private readonly judged = new Map<TronNode, Judged>();
  private readonly judging = new Map<TronNode, Promise<boolean>>();

  /** `ours`: returns a recorded final transaction, preferably the newest. */
  constructor(private readonly ours: () => Promise<FinalTx | undefined>) {}

  /** Returns true if `node` keeps history, cached or checked now. Throws NodeError when it does not answer. */
  async keeps(node: TronNode): Promise<boolean> {
    const last = this.judged.get(node);
    if (last !== undefined && monotonicMs() - last.atMs <= (last.keeps ? KEEPS_MS : LACKS_MS)) return last.keeps;
    const underway = this.judging.get(node);
    if (underway !== undefined) return underway;
    const judging = this.judge(node).finally(() => this.judging.delete(node));
    this.judging.set(node, judging);
    return judging;
  }

  /** Returns how long a node has been known to keep no history; 0 while it keeps one or was never checked. */
  lackingMs(node: TronNode): number {
    const since = this.judged.get(node)?.lackingSinceMs;
    return since === undefined ? 0 : monotonicMs() - since;
  }

  /**
   * Returns true for a witness that answers but can say nothing about final blocks. Its solid head is stalled, or it
   * has lacked history for longer than a silent witness is waited for.
   */
  isOut(node: TronNode, agreement: Agreement): boolean {
    return agreement.isSolidStalled(node) || this.lackingMs(node) > agreement.awayMaxMs;
  }

  private async judge(node: TronNode): Promise<boolean> {
    const known = await this.knownTo(node);
    const keeps = known === undefined || (await knows(node, known));
    const atMs = monotonicMs();
    const since = this.judged.get(node)?.lackingSinceMs ?? atMs;
    this.judged.set(node, { keeps, atMs, lackingSinceMs: keeps ? undefined : since });
    return keeps;
  }

  /**
   * Returns a transaction that `node` must know: one of ours, or an older one of the node's chain; undefined on a fresh
   * chain.
   */
  private async knownTo(node: TronNode): Promise<string | undefined> {
    const head = await solidHeadOf(node);
    const ours = await this.ours();
    if (ours !== undefined && ours.blockNumber <= head.number && ours.blockNumber > head.number - RECENT_BLOCKS) {
      return ours.txid;
    }
    const from = head.number - BLOCKS_BACK;
    for (let number = from; number > 0 && number > from - BLOCKS_READ_MAX; number -= 1) {
      const [first] = (await solidBlockOf(node, number))?.transactions ?? [];
      if (first !== undefined) return first.txid;
    }
    return undefined;
  }
}

/**
 * Returns true if the node knows a transaction that every node with history knows. Throws NodeError when it does not
 * answer.
 */
async function knows(node: TronNode, txid: string): Promise<boolean> {
  try {
    return (await solidPlaceOf(node, txid)) !== undefined;
  } catch (error) {
    if (!(error instanceof NodeError) || !NO_ANSWER.has(error.kind)) throw error;
    return false;
  }
}
