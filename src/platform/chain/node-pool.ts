/**
 * Asks the configured nodes as one: healthy nodes first, then recently failed ones. After a failure it asks the next
 * node. It never asks a node with a stalled head. Proofs need several answers and ask `nodes` one by one.
 */
import { messageOf } from '../../domain/errors.js';
import { sleep } from '../support/clock.js';
import { ChainUnavailableError, NodeError, answersIn } from './errors.js';
import { Agreement } from './agreement.js';
import type { BlockHead } from './block.js';
import type { TronNode } from './node.js';
import { SlowAnswers } from './slow-answers.js';

/** A probe older than this is repeated before all nodes are judged unhealthy. */
const REVIVE_INTERVAL_MS = 500;
/**
 * A node further behind the highest head than this (half a minute of the main network) is not asked: its balances and
 * delegations are stale. Counted in blocks and not in time, since a chain may keep its own clock.
 */
export const LAG_BLOCKS_MAX = 10;
/** A node is not probed within this part of the interval after its last head: a block is half a megabyte of text. */
const FRESH_SHARE = 0.9;
/** Solid heads of working nodes are a few blocks apart. */
const SOLID_LAG_BLOCKS_MAX = 10;
/** Final blocks are compared once in this many probes. */
const PROBES_PER_COMPARISON = 10;
/** Default of how long other nodes wait for a silent one. */
const AWAY_MAX_MS = 300_000;

/** Faults of the connection rather than of the node: the next request may well succeed. */
const BROKEN: ReadonlySet<NodeError['kind']> = new Set(['unreachable', 'http']);

interface SolidHead {
  readonly node: TronNode;
  readonly head: BlockHead;
}

/** Returns true if the node's full port has exactly this block; undefined when it does not answer. */
async function hasBlock(node: TronNode, { number, id }: BlockHead): Promise<boolean | undefined> {
  return node.blocks.header('full', number).then(
    (header) => header?.id === id,
    () => undefined,
  );
}

/** Asks the names of one node until one answers. Throws the last NodeError. */
async function firstAnswer<T>(names: readonly TronNode[], question: (node: TronNode) => Promise<T>): Promise<T> {
  let fault: unknown;
  for (const node of names) {
    try {
      return await question(node);
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      fault = error;
    }
  }
  throw fault;
}

function byHeight(nodes: readonly TronNode[]): TronNode[] {
  return [...nodes].sort((a, b) => (b.head?.number ?? 0) - (a.head?.number ?? 0));
}

export class NodePool {
  private readonly stopping = new AbortController();
  private probing: Promise<void> | undefined;
  private revivedAt = Number.NEGATIVE_INFINITY;
  private reviving: Promise<void> | undefined;
  private comparing: Promise<void> | undefined;
  private behind: ReadonlySet<TronNode> = new Set();
  private readonly slowAnswers = new SlowAnswers<TronNode>();

  readonly agreement: Agreement;

  constructor(
    readonly nodes: readonly TronNode[],
    private readonly probeMs: number,
    awayMaxMs = AWAY_MAX_MS,
  ) {
    this.agreement = new Agreement(nodes, awayMaxMs);
  }

  /** Throws ChainUnavailableError while nodes contradict each other without a majority. */
  assertAgreed(): void {
    const { dispute } = this.agreement;
    if (dispute !== undefined) {
      const contradiction = new Error(`${dispute.nodes.join(' and ')} contradict each other`);
      throw new ChainUnavailableError(dispute.what, [contradiction]);
    }
  }

  /** Reads every node's head periodically until `stop`. */
  start(): void {
    this.probing ??= this.probeLoop();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.probing;
    await this.comparing;
  }

  /**
   * Returns the nodes to ask, highest head first; the configured order decides ties. Healthy ones, or else recently
   * failed ones.
   */
  healthy(): TronNode[] {
    const current = this.current();
    const healthy = current.filter((node) => node.isHealthy);
    return byHeight(healthy.length > 0 ? healthy : current);
  }

  /**
   * Returns the nodes to broadcast to, best first. Every broadcast matters and repeated bytes do no harm, so recently
   * failed nodes are included. A node that throttles or is not believed is used only when no other remains.
   */
  forBroadcast(): TronNode[] {
    const current = this.current();
    if (current.length > 0)
      return [
        ...byHeight(current.filter((node) => node.isHealthy)),
        ...byHeight(current.filter((node) => !node.isHealthy)),
      ];
    const rest = this.nodes.filter((node) => !node.isSilenced);
    return byHeight(rest.length > 0 ? rest : this.nodes);
  }

  /**
   * Returns the chain's time at this head; 0 while it is unknown or nodes contradict each other. One node that alone
   * reports a later time must not end a rental early. An earlier time only delays the end.
   */
  undisputedClockMs(head = this.head): number {
    if (head === undefined || this.agreement.dispute !== undefined) return 0;
    return Math.min(head.timestampMs, this.agreement.clockMs);
  }

  /** The highest known head of a healthy node. */
  get head(): BlockHead | undefined {
    return this.healthy()[0]?.head;
  }

  /**
   * Asks in configured order until a node answers: healthy nodes, then recently failed ones. Nodes that were too slow
   * for the same question come last. A single node is retried once after a broken connection. `last` is asked last.
   * Throws ChainUnavailableError when no node answers.
   */
  async ask<T>(what: string, question: (node: TronNode) => Promise<T>, last?: TronNode): Promise<T> {
    const faults: unknown[] = [];
    const known = this.slowAnswers.order(what, await this.candidates());
    const candidates = [...known.filter((node) => node !== last), ...known.filter((node) => node === last)];
    const [only] = candidates;
    if (candidates.length === 1 && only !== undefined) candidates.push(only);
    for (const node of candidates) {
      const fault = faults.at(-1);
      if (node === only && fault instanceof NodeError && !BROKEN.has(fault.kind)) break;
      try {
        const answer = await question(node);
        this.slowAnswers.end(what, node);
        return answer;
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        if (error.kind === 'timeout') this.slowAnswers.note(what, node);
        faults.push(error);
      }
    }
    throw new ChainUnavailableError(what, faults);
  }

  /**
   * Asks all believed nodes concurrently and returns their answers, one of each full port: two keys of one provider must
   * not outvote another provider, while nodes that share a solid port answer for themselves. For data that should not
   * rest on a single node. Throws ChainUnavailableError when none answers.
   */
  async askEach<T>(what: string, question: (node: TronNode) => Promise<T>): Promise<readonly T[]> {
    const candidates = await this.candidates();
    const hosts = [...new Set(candidates.map(({ fullHost }) => fullHost))];
    const outcomes = await Promise.allSettled(
      hosts.map(async (host) =>
        firstAnswer(
          candidates.filter(({ fullHost }) => fullHost === host),
          question,
        ),
      ),
    );
    return answersIn(outcomes, what, 1);
  }

  /**
   * Nodes that may be asked and were not far behind at the last probe: healthy ones first, in configured order. Nodes
   * with a stalled solid head come last.
   */
  private current(): TronNode[] {
    const { suspects } = this.agreement;
    const current = this.nodes.filter((node) => node.isBelieved && !this.behind.has(node) && !suspects.has(node));
    return [
      ...current.filter((node) => node.isHealthy),
      ...current.filter((node) => !node.isHealthy && !node.isSilenced),
    ].sort((a, b) => Number(this.agreement.isSolidStalled(a)) - Number(this.agreement.isSolidStalled(b)));
  }

  private async candidates(): Promise<TronNode[]> {
    const current = this.current();
    if (current.length > 0) return current;
    // No node is known to be believed: this process may have just started, or nodes may have recovered. Concurrent
    // callers share this probe.
    if (this.reviving === undefined) {
      if (performance.now() - this.revivedAt < REVIVE_INTERVAL_MS) return current;
      this.revivedAt = performance.now();
      this.reviving = this.probe(this.nodes).finally(() => {
        this.reviving = undefined;
      });
    }
    await this.reviving;
    return this.current();
  }

  private async probe(nodes: readonly TronNode[]): Promise<void> {
    const rested = nodes.filter((node) => !node.isBackedOff);
    const asked = rested.length > 0 ? rested : nodes.filter((node) => !node.isSilenced);
    await Promise.all(asked.map(async (node) => node.readHead().catch(messageOf)));
    // Compares heads read at about the same time. A recently moving head counts even if its node is not asked just now.
    // So a short failure of the only good node does not let stale nodes answer.
    const { height } = this.agreement;
    this.behind = new Set(this.nodes.filter((node) => (node.head?.number ?? 0) < height - LAG_BLOCKS_MAX));
  }

  /** Asks every witness for one final block: the highest that all answering witnesses have. */
  private async compareBlocks(): Promise<void> {
    const { witnesses } = this.agreement;
    if (witnesses.length < 2) return;
    const heads = await Promise.all(witnesses.map(async (node) => node.blocks.head('solid').catch(() => undefined)));
    const answers = witnesses.flatMap((node, index) => {
      const head = heads[index];
      return head === undefined ? [] : [{ node, head }];
    });
    await this.noteSolidHeads(answers);
    const number = Math.min(...answers.map(({ head }) => head.number));
    const read = await Promise.all(
      witnesses.map(async (node, index) => {
        const head = heads[index];
        if (head === undefined) return undefined;
        return head.number === number ? head : node.blocks.header('solid', number).catch(() => undefined);
      }),
    );
    const testimonies = witnesses.flatMap((node, index) => {
      const block = read[index];
      return block === undefined ? [] : [{ node, says: `${block.id} ${block.timestampMs.toString()}` }];
    });
    this.agreement.compare(`the final block ${number.toString()}`, testimonies);
  }

  /**
   * Compares each solid head with the highest one, or with three or more with the highest that two have reached. A node
   * counts as behind only if its own full port has that very block. So a node that alone claims a later block makes no
   * other seem stalled, and no node is behind when the whole network stalls.
   */
  private async noteSolidHeads(answers: readonly SolidHead[]): Promise<void> {
    const heads = answers
      .flatMap(({ node, head }) => (node.isBelieved ? head : []))
      .sort((a, b) => b.number - a.number);
    const reached = heads[heads.length >= 3 ? 1 : 0];
    await Promise.all(
      answers.map(async ({ node, head }) => {
        const isFar = reached !== undefined && head.number < reached.number - SOLID_LAG_BLOCKS_MAX;
        const isBehind = isFar && (await hasBlock(node, reached));
        this.agreement.noteSolidHead(node, head.number, isBehind);
      }),
    );
  }

  private async probeLoop(): Promise<void> {
    for (let probes = 0; !this.stopping.signal.aborted; probes += 1) {
      await this.probe(this.nodes.filter((node) => node.headAgeReadMs >= this.probeMs * FRESH_SHARE));
      // Runs beside probing: a silent solid port must not delay reading the heads.
      if (probes % PROBES_PER_COMPARISON === 0)
        this.comparing ??= this.compareBlocks().finally(() => (this.comparing = undefined));
      await sleep(this.probeMs, this.stopping.signal);
    }
  }
}
