/** What an operator's act is refused with: one plain sentence, and the exit code it ends the command with. */

/** 0 done, 1 failed or refused, 2 called wrongly. */
export type ExitCode = 0 | 1 | 2;

/** A command that cannot do what was asked; the message says why and what to do. */
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

/** The command line itself is wrong; exit code 2. */
export function usageError(message: string): OperatorError {
  return new OperatorError(message, 2);
}
