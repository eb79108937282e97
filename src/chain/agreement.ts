/**
 * What several nodes make of one chain: who is a witness, which time none of them contradicts, and whether they
 * contradict each other. Two nodes that do are both worth nothing; of three or more, any two that agree outvote one.
 */
import { monotonicMs } from '../base/clock.js';
import type { TronNode } from './node.js';

/** Why nobody knows which of the nodes to believe. */
export interface Dispute {
  readonly what: string;
  readonly nodes: readonly string[];
}

/** Something that one witness says, as a key that is equal where they agree. */
export interface Testimony {
  readonly node: TronNode;
  readonly says: string;
}

/** TRON: a block every three seconds, or later when its maker misses its turn. */
const SLOT_MS = 3_000;
/** More than any blocks that were missed lately; beyond this one of the nodes reports a wrong time. */
const CLOCKS_APART_MAX_MS = 60_000;
/** How long a reported contradiction counts; while it lasts, it is reported anew. */
const REPORT_MS = 10_000;

export class Agreement {
  /** One node for each solid port: two names of one are the same word twice. */
  readonly witnesses: readonly TronNode[];
  private readonly voices: readonly (readonly TronNode[])[];
  private compared: Dispute | undefined;
  private reported: { readonly dispute: Dispute; readonly atMs: number } | undefined;
  private outvoted: ReadonlySet<TronNode> = new Set();
  /** Solid heads far below another one's: at which height each stands, and since when. */
  private readonly stalls = new Map<TronNode, { readonly number: number; readonly sinceMs: number }>();

  constructor(
    private readonly nodes: readonly TronNode[],
    readonly awayMaxMs: number,
  ) {
    const names = [...new Set(nodes.map(({ witness }) => witness))];
    this.voices = names.map((name) => nodes.filter(({ witness }) => witness === name));
    this.witnesses = this.voices.flatMap((voice) => voice[0] ?? []);
  }

  /** Whether a witness has been silent, or not believed, for so long that the others go on without it. */
  isAway(node: TronNode): boolean {
    return node.awayMs > this.awayMaxMs;
  }

  /** How long a witness's solid head has stood still far below another one's; 0 while it moves, or is not so far below. */
  solidStalledMs(node: TronNode): number {
    const stall = this.stalls.get(node);
    return stall === undefined ? 0 : monotonicMs() - stall.sinceMs;
  }

  /**
   * Whether a witness's solid head has stood still for so long that the others go on without its word on final blocks.
   * It answers, so that it is not away.
   */
  readonly isSolidStalled = (node: TronNode): boolean => this.solidStalledMs(node) > this.awayMaxMs;

  /** Takes in a witness's solid head; `isBehind`: whether it is far below another one's, undefined where that is not known. */
  noteSolidHead(node: TronNode, number: number, isBehind: boolean | undefined): void {
    const stall = this.stalls.get(node);
    const hasMoved = stall === undefined || number > stall.number;
    if (isBehind === false || (hasMoved && isBehind === undefined)) this.stalls.delete(node);
    else if (hasMoved) this.stalls.set(node, { number, sinceMs: monotonicMs() });
  }

  /**
   * Whether what these witnesses agree on is enough to act upon for good: two of them, or one where there is no other,
   * or where the others have been away for so long. `isOut`: of which others nothing is to be expected either.
   */
  suffices(agreeing: readonly TronNode[], isOut: (node: TronNode) => boolean = () => false): boolean {
    if (agreeing.length !== 1) return agreeing.length > 1;
    return this.witnesses.every((node) => agreeing.includes(node) || this.isAway(node) || isOut(node));
  }

  /**
   * The chain's time that enough nodes have reached: the only one's, the earlier of two, with three or more that of the
   * second highest. A node that fell silent holds it where it was until it counts as away; where all do, those whose
   * head is believed have the time still. 0 while nobody knows.
   */
  get clockMs(): number {
    const heard = this.voices.filter((voice) => !voice.every((node) => this.isAway(node)));
    const present = heard.length > 0 ? heard : this.voices.filter((voice) => voice.some((node) => node.isBelieved));
    const [only] = present;
    if (present.length === 1 && only?.some((node) => node.isBelieved) !== true) return 0;
    const times = present.map((voice) => Math.min(...voice.map(({ head }) => head?.timestampMs ?? 0)));
    times.sort((a, b) => b - a);
    const wanted = this.voices.length >= 3 ? Math.min(1, times.length - 1) : times.length - 1;
    return times[wanted] ?? 0;
  }

  /** The height that the others are measured by: the highest, with three nodes or more the highest that two have reached. */
  get height(): number {
    const present = this.nodes.filter((node) => node.isOnTime && node.isMoving && !this.outvoted.has(node));
    const heights = present.map(({ head }) => head?.number ?? 0).sort((a, b) => b - a);
    return heights[present.length >= 3 ? 1 : 0] ?? 0;
  }

  /** What nodes contradict each other about, where nobody can say which of them is right. */
  get dispute(): Dispute | undefined {
    const { reported } = this;
    const recent = reported !== undefined && monotonicMs() - reported.atMs <= REPORT_MS ? reported.dispute : undefined;
    return this.disputedTime ?? this.compared ?? recent;
  }

  /** Nodes that two others agree against. */
  get suspects(): ReadonlySet<TronNode> {
    return new Set([...this.outvoted, ...this.strayClocks]);
  }

  /** Takes in what witnesses say of a final block. Fewer than two settle nothing, unless the others are away. */
  compare(what: string, testimonies: readonly Testimony[]): void {
    if (testimonies.length < 2) {
      const isAlone = this.witnesses.every(
        (node) => this.isAway(node) || testimonies.some((each) => each.node === node),
      );
      if (isAlone) this.compared = undefined;
      return;
    }
    const agreed = majorityOf(testimonies);
    this.outvoted = new Set(
      testimonies.flatMap(({ node, says }) => (agreed !== undefined && says !== agreed ? node : [])),
    );
    this.compared = agreed === undefined ? { what, nodes: testimonies.map(({ node }) => node.name) } : undefined;
  }

  /** Keeps a reported contradiction that no majority decides. */
  report(what: string, nodes: readonly TronNode[]): void {
    this.reported = { dispute: { what, nodes: nodes.map(({ name }) => name) }, atMs: monotonicMs() };
  }

  /** Of nodes that speak: how far the clock of each is from where its height puts it. */
  private get offsets(): readonly { readonly node: TronNode; readonly ms: number }[] {
    return this.nodes.flatMap((node) =>
      node.head !== undefined && node.isOnTime && node.isMoving
        ? [{ node, ms: node.head.timestampMs - node.head.number * SLOT_MS }]
        : [],
    );
  }

  private get disputedTime(): Dispute | undefined {
    const { offsets } = this;
    const isAgreed = offsets.length < 2 || this.agreeing(offsets).length >= Math.min(2, offsets.length);
    return isAgreed ? undefined : { what: 'the time of the chain', nodes: offsets.map(({ node }) => node.name) };
  }

  private get strayClocks(): readonly TronNode[] {
    const { offsets } = this;
    const agreeing = this.agreeing(offsets);
    if (offsets.length < 3 || agreeing.length < 2) return [];
    return offsets.flatMap(({ node }) => (agreeing.includes(node) ? [] : node));
  }

  /** The largest set of nodes around one clock. */
  private agreeing(offsets: Agreement['offsets']): readonly TronNode[] {
    let most: readonly TronNode[] = [];
    for (const { ms } of offsets) {
      const near = offsets.flatMap((other) => (Math.abs(other.ms - ms) <= CLOCKS_APART_MAX_MS ? other.node : []));
      if (near.length > most.length) most = near;
    }
    return most;
  }
}

/** What at least two say, and more than say anything else; undefined when nothing is that. */
export function majorityOf(testimonies: readonly Testimony[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { says } of testimonies) counts.set(says, (counts.get(says) ?? 0) + 1);
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a);
  return first !== undefined && first[1] >= 2 && first[1] > (second?.[1] ?? 0) ? first[0] : undefined;
}
