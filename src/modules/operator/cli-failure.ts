/** The end of a failed command: its exit code, and one plain sentence for any error. */
import { CommanderError } from 'commander';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { ConsoleError } from '../../domain/console-error.js';
import { OperatorError, type ExitCode } from '../../domain/operator-error.js';
import { ApiError, InvariantError, messageOf, reasonOf, StartError } from '../../domain/errors.js';
import { isConnectionFault, sqlStateOf } from '../../platform/database/database.js';
import { databaseFaultOf, databaseFaultText, isDatabaseBusy } from '../../platform/database/database-fault.js';

export interface CliFailure {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly message: string;
}

/** Returns the exit code and message for an error of a command. Never a stack: the operator reads one sentence. */
export function failureOf(thrown: unknown): CliFailure {
  if (thrown instanceof OperatorError) {
    return { exitCode: thrown.exitCode, code: thrown.code, message: thrown.message };
  }
  if (thrown instanceof CommanderError) return commandLineFault(thrown);
  if (thrown instanceof StartError) return { exitCode: 1, code: thrown.code, message: thrown.message };
  if (thrown instanceof ConsoleError) return { exitCode: 1, code: thrown.code, message: thrown.message };
  if (thrown instanceof ApiError) return { exitCode: 1, code: thrown.code, message: thrown.message };
  if (thrown instanceof InvariantError) {
    return {
      exitCode: 1,
      code: 'BUG',
      message: `A bug in the service: ${thrown.message}.`,
    };
  }
  if (thrown instanceof ChainUnavailableError) {
    const causes = thrown.cause instanceof AggregateError ? thrown.cause.errors.map((cause) => messageOf(cause)) : [];
    const why = causes.length === 0 ? '' : ` (${causes.join('; ')})`;
    return { exitCode: 1, code: 'CHAIN_UNAVAILABLE', message: `${thrown.message}${why}. Check TRON_FULL_NODE_URLS.` };
  }
  return faultOfDatabase(thrown) ?? { exitCode: 1, code: 'FAILED', message: reasonOf(thrown) };
}

/**
 * Returns the failure if the database caused it. The platform wraps errors at the start, so causes are searched too.
 */
function faultOfDatabase(thrown: unknown): CliFailure | undefined {
  if (isConnectionFault(thrown) || isDatabaseBusy(thrown)) return unreachable(thrown);
  const sqlState = sqlStateOf(thrown);
  if (sqlState === '42P01' || sqlState === '42703') {
    const message = 'The database schema is older than this version. Run `npm run cli -- migrate` first.';
    return { exitCode: 1, code: 'NOT_MIGRATED', message };
  }
  if (sqlState === '42501') {
    const message =
      `The login of DATABASE_URL lacks the permission (${reasonOf(thrown)}). ` +
      'Use the login of the command line, energy_cli_login; for `migrate`, the login of the owner.';
    return { exitCode: 1, code: 'NOT_PERMITTED', message };
  }
  if (sqlState === '28P01' || sqlState === '28000' || sqlState === '3D000') {
    return unreachable(thrown);
  }
  return thrown instanceof Error && thrown.cause !== undefined ? faultOfDatabase(thrown.cause) : undefined;
}

function unreachable(thrown: unknown): CliFailure {
  const fault = databaseFaultOf(thrown);
  return { exitCode: 1, code: fault.code, message: databaseFaultText(fault) };
}

function commandLineFault(thrown: CommanderError): CliFailure {
  // Requested help is an answer; help shown for a missing command is a mistake.
  if (thrown.code === 'commander.helpDisplayed' || thrown.code === 'commander.version') {
    return { exitCode: 0, code: 'HELP', message: '' };
  }
  if (thrown.code === 'commander.help') {
    return { exitCode: 2, code: 'USAGE', message: 'The command is missing. Run --help for the list.' };
  }
  const message = thrown.message.replace(/^error: /, '');
  const isUnknown = /^commander\.unknown(Command|Option)$/.test(thrown.code);
  return { exitCode: 2, code: 'USAGE', message: isUnknown ? `${message}\nRun --help for the list.` : message };
}
