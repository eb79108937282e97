/**
 * Whether a node keeps transaction history: it must know a final transaction that it is asked for. TRON: a node with
 * `storage.transHistory.switch = off`, or a pruned one, answers `{}` about every transaction, which proves nothing.
 */
import { monotonicMs } from '../base/clock.js';
import type { Agreement } from './agreement.js';
import { NO_ANSWER, NodeError } from './errors.js';
import type { TronNode } from './node.js';
import { solidBlockOf, solidHeadOf, solidPlaceOf } from './tron.client.js';

/** A transaction of which it is certain that it is final. */
export interface FinalTx {
  readonly txid: string;
  readonly blockNumber: number;
}

interface Judged {
  readonly keeps: boolean;
  readonly atMs: number;
  /** Since when it has been found without. */
  readonly lackingSinceMs: number | undefined;
}

/** How long a node that knew a transaction is believed to know others, and one that did not is not queried. */
const KEEPS_MS = 300_000;
const LACKS_MS = 10_000;
/** TRON: a day. A node may have deleted what is older and still keep all that a proof needs. */
const RECENT_BLOCKS = 28_800;
const BLOCKS_BACK = 1_000;
/** So many blocks without any transaction are a chain on which there is nothing to ask for. */
const BLOCKS_READ_MAX = 20;

export class History {
  private readonly judged = new Map<TronNode, Judged>();
  private readonly judging = new Map<TronNode, Promise<boolean>>();

  /** `ours`: a final transaction that the records know of, the newest best. */
  constructor(private readonly ours: () => Promise<FinalTx | undefined>) {}

  /** Whether `node` keeps history, as seen lately or now. Throws NodeFault when it does not answer. */
  async keeps(node: TronNode): Promise<boolean> {
    const last = this.judged.get(node);
    if (last !== undefined && monotonicMs() - last.atMs <= (last.keeps ? KEEPS_MS : LACKS_MS)) return last.keeps;
    const underway = this.judging.get(node);
    if (underway !== undefined) return underway;
    const judging = this.judge(node).finally(() => this.judging.delete(node));
    this.judging.set(node, judging);
    return judging;
  }

  /** How long a node has been known to keep none; 0 while it does, or was never asked. */
  lackingMs(node: TronNode): number {
    const since = this.judged.get(node)?.lackingSinceMs;
    return since === undefined ? 0 : monotonicMs() - since;
  }

  /**
   * Whether nothing is to be expected of a witness about what is final, though it answers: its solid head stands still, or
   * it has been known for as long as a silent one is waited for to keep no transactions.
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

  /** A transaction that `node` must know: one of ours, or one of its own from some way back; undefined on a fresh chain. */
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

/** Whether the node has a transaction that every node with history has. Throws NodeFault when it does not answer. */
async function knows(node: TronNode, txid: string): Promise<boolean> {
  try {
    return (await solidPlaceOf(node, txid)) !== undefined;
  } catch (error) {
    if (!(error instanceof NodeError) || !NO_ANSWER.has(error.kind)) throw error;
    return false;
  }
}
