/**
 * The configured nodes as one thing to ask: healthy ones first, the next on a failure, none whose head stands still.
 * Proofs need more than one answer and ask `nodes` one by one.
 */
import { messageOf } from '../errors.js';
import { sleep } from '../clock.js';
import { ChainUnavailableError, NodeFault } from './errors.js';
import type { BlockHead } from './block.js';
import type { TronNode } from './node.js';

/** A probe older than this is renewed before a node is judged unhealthy for good. */
const REVIVE_INTERVAL_MS = 500;
/**
 * A node further behind the highest head than this (half a minute of the main network) is not asked: what it says of
 * balances and delegations was true some time ago. Our choice: by blocks and not by time, since a chain may keep a
 * clock of its own.
 */
const LAG_BLOCKS_MAX = 10;
/** A node that told its head in this part of a probe's interval is not asked again: a block is half a megabyte of text. */
const HEARD_LATELY = 0.9;
/** TRON: a block every three seconds, or later when its maker misses its turn. */
const SLOT_MS = 3_000;

export class NodePool {
  private readonly stopping = new AbortController();
  private probing: Promise<void> | undefined;
  private revivedAt = Number.NEGATIVE_INFINITY;
  private reviving: Promise<void> | undefined;
  private behind: ReadonlySet<TronNode> = new Set();

  constructor(
    readonly nodes: readonly TronNode[],
    private readonly probeMs: number,
  ) {}

  /** Keeps every node's head known until `stop`. */
  start(): void {
    this.probing ??= this.probeLoop();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.probing;
  }

  /** The healthy nodes, the one with the highest head first; configured order decides between equals. */
  healthy(): TronNode[] {
    return this.current().sort((a, b) => (b.head?.number ?? 0) - (a.head?.number ?? 0));
  }

  /** The highest head among healthy nodes, as last seen. */
  get head(): BlockHead | undefined {
    return this.healthy()[0]?.head;
  }

  /**
   * What the nodes tell of the chain's clock, by the heads of those that move and are not far behind, also of one that
   * is not asked just now: the earliest time, and how far their clocks are apart beyond what their heights explain.
   * undefined before every node had its time to be heard: one word is not two.
   */
  get clocks(): { readonly earliestMs: number; readonly apartMs: number } | undefined {
    if (this.nodes.some((node) => node.isAwaited)) return undefined;
    const heads = this.nodes.flatMap((node) => (node.isMoving && !this.behind.has(node) ? (node.head ?? []) : []));
    if (heads.length === 0) return undefined;
    const offsets = heads.map(({ number, timestampMs }) => timestampMs - number * SLOT_MS);
    return {
      earliestMs: Math.min(...heads.map(({ timestampMs }) => timestampMs)),
      apartMs: Math.max(...offsets) - Math.min(...offsets),
    };
  }

  /**
   * Asks healthy nodes in configured order until one answers. Throws ChainUnavailableError when none does.
   * A node's refusal is an answer: it is not asked elsewhere.
   */
  async ask<T>(what: string, question: (node: TronNode) => Promise<T>): Promise<T> {
    const faults: unknown[] = [];
    for (const node of await this.candidates()) {
      try {
        return await question(node);
      } catch (error) {
        if (!(error instanceof NodeFault)) throw error;
        faults.push(error);
      }
    }
    throw new ChainUnavailableError(what, faults);
  }

  /** The healthy nodes that were not far behind at the last probe, in configured order. */
  private current(): TronNode[] {
    return this.nodes.filter((node) => node.isHealthy && !this.behind.has(node));
  }

  private async candidates(): Promise<readonly TronNode[]> {
    const healthy = this.current();
    if (healthy.length > 0) return healthy;
    // Nothing known to be healthy: this process may have just begun, or they may be back. Who asks meanwhile waits too.
    if (this.reviving === undefined) {
      if (performance.now() - this.revivedAt < REVIVE_INTERVAL_MS) return healthy;
      this.revivedAt = performance.now();
      this.reviving = this.probe(this.nodes).finally(() => {
        this.reviving = undefined;
      });
    }
    await this.reviving;
    return this.current();
  }

  private async probe(nodes: readonly TronNode[]): Promise<void> {
    await Promise.all(nodes.filter((node) => !node.isBackedOff).map(async (node) => node.readHead().catch(messageOf)));
    // Compared as read at about one time. Also with one that is not asked just now, as long as its head was seen to move
    // lately: a short failure of the only good node brings no stale answers.
    const highest = Math.max(0, ...this.nodes.map((node) => (node.isMoving ? (node.head?.number ?? 0) : 0)));
    this.behind = new Set(this.nodes.filter((node) => (node.head?.number ?? 0) < highest - LAG_BLOCKS_MAX));
  }

  private async probeLoop(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await this.probe(this.nodes.filter((node) => node.heardAgoMs >= this.probeMs * HEARD_LATELY));
      await sleep(this.probeMs, this.stopping.signal);
    }
  }
}
