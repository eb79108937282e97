/**
 * Remembers which node was too slow to answer which question, so that callers ask another node first. A node may answer
 * its head in time and still be too slow for other questions.
 */
import { monotonicMs } from '../support/clock.js';

/** Time for which other nodes are asked first. Doubles with each further timeout after it. */
const FIRST_REST_MS = 4_000;
const LONGEST_REST_MS = 60_000;

interface Rest {
  readonly restMs: number;
  /** The last timeout that was counted. */
  readonly notedMs: number;
  readonly untilMs: number;
}

export class SlowAnswers<N> {
  private readonly rests = new Map<N, Map<string, Rest>>();

  /**
   * Returns the nodes with those at rest last. A node whose rest is over gets one question as a trial: it rests again
   * for all others until it answers.
   */
  order(what: string, nodes: readonly N[]): N[] {
    const resting = new Set(nodes.filter((node) => this.checkRest(what, node)));
    return [...nodes.filter((node) => !resting.has(node)), ...resting];
  }

  /** Records a timeout. Those of concurrent questions count once. */
  note(what: string, node: N): void {
    const known = this.restOf(what, node);
    const now = monotonicMs();
    if (known !== undefined && now - known.notedMs < known.restMs) return;
    const restMs = known === undefined ? FIRST_REST_MS : Math.min(LONGEST_REST_MS, known.restMs * 2);
    this.set(what, node, { restMs, notedMs: now, untilMs: now + restMs });
  }

  /** Records an answer, which ends all rests for this question. */
  end(what: string, node: N): void {
    this.rests.get(node)?.delete(kindOf(what));
  }

  private checkRest(what: string, node: N): boolean {
    const known = this.restOf(what, node);
    if (known === undefined) return false;
    const now = monotonicMs();
    if (now < known.untilMs) return true;
    this.set(what, node, { ...known, untilMs: now + known.restMs });
    return false;
  }

  private restOf(what: string, node: N): Rest | undefined {
    return this.rests.get(node)?.get(kindOf(what));
  }

  private set(what: string, node: N, rest: Rest): void {
    const rests = this.rests.get(node) ?? new Map<string, Rest>();
    this.rests.set(node, rests.set(kindOf(what), rest));
  }
}

/** Questions about different blocks are of one kind. */
const kindOf = (what: string): string => what.replaceAll(/\d+/g, 'N');
