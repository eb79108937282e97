/** The error that refuses an operator's command: one plain sentence, and the exit code of the command. */

/** 0 done, 1 failed or refused, 2 wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** A command that cannot be carried out. The message gives the reason and the remedy. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
  constructor(
    message: string,
    readonly exitCode: ExitCode = 1,
    readonly code = exitCode === 2 ? 'USAGE' : 'REFUSED',
  ) {
    super(message);
  }
}

/** Returns the error for a wrong command line; exit code 2. */
export function usageError(message: string): OperatorError {
  return new OperatorError(message, 2);
}
