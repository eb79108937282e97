/**
 * Combines the views of several nodes: the witnesses, the chain time that none contradicts, and disputes. Two nodes
 * that contradict each other are both disbelieved. Of three or more, any two that agree outvote one.
 */
import { monotonicMs } from '../support/clock.js';
import type { TronNode } from './node.js';

/** A contradiction between nodes that no majority decides. */
export interface Dispute {
  readonly what: string;
  readonly nodes: readonly string[];
}

/** The statement of one witness, as a key that is equal where witnesses agree. */
export interface Testimony {
  readonly node: TronNode;
  readonly says: string;
}

/** TRON makes a block every three seconds, or later when a block producer misses its turn. */
const SLOT_MS = 3_000;
/** Exceeds the delay of any recently missed blocks. A larger difference means that one node reports a wrong time. */
const CLOCKS_APART_MAX_MS = 60_000;
/** Lifetime of a reported contradiction. While the contradiction lasts, it is reported again. */
const REPORT_MS = 10_000;

export class Agreement {
  /** The names of each solid port: two names of one port, such as two keys of one provider, are a single witness. */
  private readonly voices: readonly (readonly TronNode[])[];
  private compared: Dispute | undefined;
  private reported: { readonly dispute: Dispute; readonly atMs: number } | undefined;
  /** The witnesses that a majority contradicted at the last comparison. */
  private outvoted: ReadonlySet<string> = new Set();
  /**
   * The witnesses with a solid head far below another one's, by solid port. Each has the height at which it stalls, and
   * the start of the stall.
   */
  private readonly stalls = new Map<string, { readonly number: number; readonly sinceMs: number }>();

  constructor(
    private readonly nodes: readonly TronNode[],
    readonly awayMaxMs: number,
  ) {
    const names = [...new Set(nodes.map(({ witness }) => witness))];
    this.voices = names.map((name) => nodes.filter(({ witness }) => witness === name));
  }

  /**
   * One node for each solid port, in configured order. Of several names the first one that is in use, so that an
   * exhausted key silences no witness. Another name may be returned on the next call: compare `TronNode.witness`.
   */
  get witnesses(): readonly TronNode[] {
    return this.voices.flatMap((voice) => {
      const present = voice.filter((node) => !this.isAway(node) && !node.isSilenced);
      return voice.find((node) => node.isHealthy) ?? present[0] ?? voice[0] ?? [];
    });
  }

  /** Returns true when a witness has been silent or disbelieved for so long that the others proceed without it. */
  isAway(node: TronNode): boolean {
    return node.awayMs > this.awayMaxMs;
  }

  /**
   * Returns how long a witness's solid head has been stalled far below another one's; 0 while it moves or is close
   * enough.
   */
  solidStalledMs(node: TronNode): number {
    const stall = this.stalls.get(node.witness);
    return stall === undefined ? 0 : monotonicMs() - stall.sinceMs;
  }

  /**
   * Returns true when a witness's solid head has been stalled for so long that the others decide on final blocks
   * without it. Such a witness still answers, so it does not count as away.
   */
  readonly isSolidStalled = (node: TronNode): boolean => this.solidStalledMs(node) > this.awayMaxMs;

  /**
   * Records a witness's solid head. `isBehind`: true when it is far below another one's, undefined when that is
   * unknown.
   */
  noteSolidHead(node: TronNode, number: number, isBehind: boolean | undefined): void {
    const stall = this.stalls.get(node.witness);
    const hasMoved = stall === undefined || number > stall.number;
    if (isBehind === false || (hasMoved && isBehind === undefined)) this.stalls.delete(node.witness);
    else if (hasMoved) this.stalls.set(node.witness, { number, sinceMs: monotonicMs() });
  }

  /**
   * Returns true when the agreement of these witnesses suffices to act irrevocably. That takes two witnesses, or one
   * when all others are away or `isOut`. `isOut`: true for witnesses from which no answer is expected for other
   * reasons.
   */
  suffices(agreeing: readonly TronNode[], isOut: (node: TronNode) => boolean = () => false): boolean {
    const ports = new Set(agreeing.map(({ witness }) => witness));
    if (ports.size !== 1) return ports.size > 1;
    return this.witnesses.every((node) => ports.has(node.witness) || this.isAway(node) || isOut(node));
  }

  /**
   * The chain time that enough nodes have reached: of one node its own, of two the earlier, of three or more the second
   * highest. A silent node holds the time back until it counts as away, as does each of several names of one node. When
   * all are away, nodes with a believed head still give the time. 0 while the time is unknown.
   */
  get clockMs(): number {
    const heard = this.namesThat((node) => !this.isAway(node));
    const present = heard.length > 0 ? heard : this.namesThat((node) => node.isBelieved);
    const [only] = present;
    if (present.length === 1 && only?.some((node) => node.isBelieved) !== true) return 0;
    const times = present.map((voice) => Math.min(...voice.map(({ head }) => head?.timestampMs ?? 0)));
    times.sort((a, b) => b - a);
    const wanted = this.voices.length >= 3 ? Math.min(1, times.length - 1) : times.length - 1;
    return times[wanted] ?? 0;
  }

  /**
   * The height that nodes are compared with: the highest, or with three or more witnesses the highest that two have
   * reached.
   */
  get height(): number {
    const present = this.namesThat((node) => node.isOnTime && node.isMoving && !this.outvoted.has(node.witness));
    const heights = present.map((voice) => Math.max(...voice.map(({ head }) => head?.number ?? 0)));
    heights.sort((a, b) => b - a);
    return heights[present.length >= 3 ? 1 : 0] ?? 0;
  }

  /** The current contradiction between nodes that no majority decides; undefined without one. */
  get dispute(): Dispute | undefined {
    const { reported } = this;
    const recent = reported !== undefined && monotonicMs() - reported.atMs <= REPORT_MS ? reported.dispute : undefined;
    return this.disputedTime ?? this.compared ?? recent;
  }

  /** Nodes that two other witnesses agree against: all names of an outvoted one, and each name with a stray clock. */
  get suspects(): ReadonlySet<TronNode> {
    const outvoted = this.nodes.filter(({ witness }) => this.outvoted.has(witness));
    return new Set([...outvoted, ...this.strayClocks]);
  }

  /**
   * Compares the statements of witnesses on a final block. A single statement settles nothing, unless the others are
   * away.
   */
  compare(what: string, testimonies: readonly Testimony[]): void {
    if (testimonies.length < 2) {
      const isAlone = this.witnesses.every(
        (node) => this.isAway(node) || testimonies.some((each) => each.node.witness === node.witness),
      );
      if (isAlone) this.compared = undefined;
      return;
    }
    const agreed = majorityOf(testimonies);
    this.outvoted = new Set(
      testimonies.flatMap(({ node, says }) => (agreed !== undefined && says !== agreed ? node.witness : [])),
    );
    this.compared = agreed === undefined ? { what, nodes: testimonies.map(({ node }) => node.name) } : undefined;
  }

  /** Records a reported contradiction that no majority decides. */
  report(what: string, nodes: readonly TronNode[]): void {
    this.reported = { dispute: { what, nodes: nodes.map(({ name }) => name) }, atMs: monotonicMs() };
  }

  /** Returns the names of each solid port that meet a condition, without ports that have none. */
  private namesThat(isSo: (node: TronNode) => boolean): readonly (readonly TronNode[])[] {
    return this.voices.map((voice) => voice.filter(isSo)).filter((voice) => voice.length > 0);
  }

  /** For each node that answers: the offset of its head's time from the time that its height implies. */
  private get offsets(): readonly { readonly node: TronNode; readonly ms: number }[] {
    return this.nodes.flatMap((node) =>
      node.head !== undefined && node.isOnTime && node.isMoving
        ? [{ node, ms: node.head.timestampMs - node.head.number * SLOT_MS }]
        : [],
    );
  }

  private get disputedTime(): Dispute | undefined {
    const { offsets } = this;
    const agreeing = this.agreeing(offsets);
    const isAgreed = agreeing.length === offsets.length || witnessesOf(agreeing) >= 2;
    return isAgreed ? undefined : { what: 'the time of the chain', nodes: offsets.map(({ node }) => node.name) };
  }

  private get strayClocks(): readonly TronNode[] {
    const { offsets } = this;
    const agreeing = this.agreeing(offsets);
    if (witnessesOf(agreeing) < 2) return [];
    return offsets.flatMap(({ node }) => (agreeing.includes(node) ? [] : node));
  }

  /** Returns the nodes with nearly equal offsets that are of most witnesses, and of several such sets the largest. */
  private agreeing(offsets: Agreement['offsets']): readonly TronNode[] {
    let most: readonly TronNode[] = [];
    for (const { ms } of offsets) {
      const near = offsets.flatMap((other) => (Math.abs(other.ms - ms) <= CLOCKS_APART_MAX_MS ? other.node : []));
      const more = witnessesOf(near) - witnessesOf(most);
      if (more > 0 || (more === 0 && near.length > most.length)) most = near;
    }
    return most;
  }
}

/** Returns the number of witnesses among the nodes. */
const witnessesOf = (nodes: readonly TronNode[]): number => new Set(nodes.map(({ witness }) => witness)).size;

/** Returns the statement that at least two witnesses make and more than make any other; undefined without one. */
export function majorityOf(testimonies: readonly Testimony[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { says } of testimonies) counts.set(says, (counts.get(says) ?? 0) + 1);
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a);
  return first !== undefined && first[1] >= 2 && first[1] > (second?.[1] ?? 0) ? first[0] : undefined;
}
