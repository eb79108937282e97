/** What can go wrong between us and a TRON node. None of it proves anything about a transaction. */

/** One node did not give a usable answer. `kind` says whether asking it again soon makes sense. */
export class NodeError extends Error {
  override readonly name = 'NodeFault';
  constructor(
    readonly node: string,
    /** `unreadable`: a block is there, but what it holds cannot be read in any way. */
    readonly kind:
      'unreachable' | 'timeout' | 'throttled' | 'http' | 'nonsense' | 'refused' | 'unhealthy' | 'unreadable',
    message: string,
    cause?: unknown,
    /** Whether the node may have heard the request; false where certainly nobody did. */
    readonly isSent = true,
  ) {
    super(`${node}: ${message}`, { cause });
  }

  /** Whether the node's configuration leaves constant calls out. */
  get runsNoConstantCalls(): boolean {
    return this.message.endsWith(NO_CONSTANT_CALLS);
  }
}

export const NO_CONSTANT_CALLS = 'it runs no constant calls';

/** An answer, but none to the question: a provider, or a lite fullnode of TRON, may not have the endpoint. */
export const NO_ANSWER: ReadonlySet<NodeError['kind']> = new Set(['http', 'refused', 'nonsense']);

const REASONS_MAX = 3;
const REASON_CHARS_MAX = 300;

/** What nodes said, for a log. */
function reasonsOf(faults: readonly unknown[]): string {
  const says = faults.slice(0, REASONS_MAX).map((fault) => (fault instanceof Error ? fault.message : String(fault)));
  if (faults.length > REASONS_MAX) says.push(`and ${(faults.length - REASONS_MAX).toString()} more`);
  return says.join('; ').slice(0, REASONS_MAX * REASON_CHARS_MAX) || 'no node may be asked just now';
}

/** No configured node gave a usable answer. */
export class ChainUnavailableError extends Error {
  override readonly name = 'ChainUnavailableError';
  constructor(what: string, faults: readonly unknown[]) {
    super(`No TRON node could answer ${what}`, { cause: new AggregateError(faults, reasonsOf(faults)) });
  }
}

/** What is left of an answer that a node did not give, where another one may do; anything else is thrown on. */
export function unlessOfNode(error: unknown): undefined {
  if (!(error instanceof NodeError)) throw error;
}
