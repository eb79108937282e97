/** The request failures that the pages distinguish. */
export interface FieldFault {
  readonly field: string;
  readonly msg: string;
}

/** The process answered with an error. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | undefined,
    readonly details: readonly FieldFault[],
    readonly retryAfterSec: number | undefined,
  ) {
    super(message);
  }
}

/** No answer arrived: the network or the process is down. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export function isOffline(failure: unknown): boolean {
  return (
    failure instanceof Unreachable || (failure instanceof Refusal && failure.status === 503 && failure.code === '')
  );
}
