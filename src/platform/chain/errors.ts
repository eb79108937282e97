/** Failures between us and TRON nodes. None of them proves anything about a transaction. */

/** A node gave no usable answer. `kind` decides if a soon retry makes sense. */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  constructor(
    readonly node: string,
    /** `unreadable`: the block exists, but no way of reading it succeeds. */
    readonly kind:
      'unreachable' | 'timeout' | 'throttled' | 'http' | 'nonsense' | 'refused' | 'unhealthy' | 'unreadable',
    message: string,
    cause?: unknown,
    /** True if the node may have received the request; false if it certainly did not. */
    readonly isSent = true,
  ) {
    super(`${node}: ${message}`, { cause });
  }

  /** True when the node's configuration disables constant calls. */
  get runsNoConstantCalls(): boolean {
    return this.message.endsWith(NO_CONSTANT_CALLS);
  }
}

export const NO_CONSTANT_CALLS = 'it runs no constant calls';

/** Kinds of answers that do not answer the question: a provider or a TRON lite fullnode may lack the endpoint. */
export const NO_ANSWER: ReadonlySet<NodeError['kind']> = new Set(['http', 'refused', 'nonsense']);

const REASONS_MAX = 3;
const REASON_CHARS_MAX = 300;

/** Summarizes the nodes' errors for a log. */
function reasonsOf(faults: readonly unknown[]): string {
  const says = faults.slice(0, REASONS_MAX).map((fault) => (fault instanceof Error ? fault.message : String(fault)));
  if (faults.length > REASONS_MAX) says.push(`and ${(faults.length - REASONS_MAX).toString()} more`);
  return says.join('; ').slice(0, REASONS_MAX * REASON_CHARS_MAX) || 'no node can be asked at present';
}

/** No configured node gave a usable answer. */
export class ChainUnavailableError extends Error {
  override readonly name = 'ChainUnavailableError';
  constructor(what: string, faults: readonly unknown[]) {
    super(`No TRON node could answer ${what}`, { cause: new AggregateError(faults, reasonsOf(faults)) });
  }
}

/**
 * Returns the answers of nodes that were asked concurrently. Throws ChainUnavailableError when fewer than `needed`
 * answered. Rethrows an error other than a NodeError.
 */
export function answersIn<T>(outcomes: readonly PromiseSettledResult<T>[], what: string, needed: number): T[] {
  const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const faults = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const unexpected = faults.find((fault) => !(fault instanceof NodeError));
  if (unexpected !== undefined) throw unexpected as Error;
  if (answers.length < needed) throw new ChainUnavailableError(what, faults);
  return answers;
}

/** Turns a NodeError into undefined, for callers that can use another node instead. Rethrows everything else. */
export function ignoreNodeError(error: unknown): undefined {
  if (!(error instanceof NodeError)) throw error;
}
