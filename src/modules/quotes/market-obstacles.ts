/** Reasons why the chain's fees and energy ratio cannot be read, which ends all sales. */
import { ChainUnavailableError, NodeError } from '../../platform/chain/errors.js';
import { messageOf } from '../../domain/errors.js';

/**
 * `no-node`: no node answers. `doubtful`: the answers of all nodes are unusable, for example a fee outside its configured
 * bounds. `disagreement`: nodes contradict each other. `other`: a fault of this service, see the log.
 */
export const MARKET_OBSTACLES = ['no-node', 'doubtful', 'disagreement', 'other'] as const;

export type MarketObstacle = (typeof MARKET_OBSTACLES)[number];

const SILENT: ReadonlySet<NodeError['kind']> = new Set(['unreachable', 'timeout', 'throttled', 'http', 'unhealthy']);

/** Returns the obstacle behind a failed reading of the chain. */
export function marketObstacleOf(error: unknown): MarketObstacle {
  if (!(error instanceof ChainUnavailableError)) return 'other';
  const faults: readonly unknown[] = error.cause instanceof AggregateError ? error.cause.errors : [];
  const ofNodes = faults.filter((fault) => fault instanceof NodeError);
  if (ofNodes.length < faults.length) return 'disagreement';
  return ofNodes.every(({ kind }) => SILENT.has(kind)) ? 'no-node' : 'doubtful';
}

/** Returns the message of a failed reading with the answer of each node. */
export function readingFailureText(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  return cause instanceof AggregateError ? `${messageOf(error)}: ${cause.message}` : messageOf(error);
}
