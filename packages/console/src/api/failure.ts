/** What can go wrong with a request, as the pages distinguish it. */
export interface FieldFault {
  readonly field: string;
  readonly msg: string;
}

/** The process answered, and refused. */
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

/** No answer came: the line, or the process, is away. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export function isOffline(failure: unknown): boolean {
  return (
    failure instanceof Unreachable || (failure instanceof Refusal && failure.status === 503 && failure.code === '')
  );
}
