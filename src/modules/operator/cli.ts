/** The operator's command line: builds the commands, runs one of them, and reports its failure. */
import { Command } from 'commander';
import { CliContext, type GlobalOptions, type Terminal } from './cli-context.js';
import { type ExitCode } from '../../domain/operator-error.js';
import { failureOf } from './cli-failure.js';
import { addAuditCommands } from './audit.command.js';
import { addAutoDelegationCommands } from './auto-delegations.command.js';
import { addConsoleCommands } from './console.command.js';
import { addCreditsCommands } from './credits.command.js';
import { addDepositsCommands } from './deposits.command.js';
import { addExplainTransferCommand } from './explain-transfer.command.js';
import { addKeysCommands } from './keys.command.js';
import { addDoctorCommand } from './doctor.command.js';
import { addListenCommand } from './listen.command.js';
import { addMigrateCommands } from './migrate.command.js';
import { addOrdersCommands } from './orders.command.js';
import { addPoolCommands } from './pool.command.js';
import { addPriceCommands } from './price.command.js';
import { addProjectCommands } from './project.command.js';
import { addReportCommand } from './report.command.js';
import { addSecretsCommands } from './secrets.command.js';
import { addSignatureCommands } from './signature.command.js';
import { addStatementsCommands } from './statements.command.js';
import { addVerifyCommands } from './verify.command.js';
import { addWebhookCommands } from './webhooks.command.js';

function buildProgram(context: CliContext): Command {
  const program = new Command('npm run cli --')
    .description('Operator commands of the energy rental service.')
    .option('--json', 'print the result as one JSON document')
    .option('--yes', 'confirm dangerous actions in advance')
    .option('--actor <name>', 'your name for the audit log (default: $USER)')
    .option('--reason <text>', 'the reason for the audit log')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: true })
    .configureOutput({
      writeOut: (text) => context.terminal.out(text),
      writeErr: (text) => context.terminal.err(text),
      // `runCli` prints every error, once.
      outputError: () => undefined,
    })
    .exitOverride()
    .showSuggestionAfterError()
    .hook('preAction', (root) => context.settle(root.opts<GlobalOptions>()));
  addMigrateCommands(program, context);
  addDoctorCommand(program, context);
  addProjectCommands(program, context);
  addCreditsCommands(program, context);
  addDepositsCommands(program, context);
  addStatementsCommands(program, context);
  addPriceCommands(program, context);
  addPoolCommands(program, context);
  addOrdersCommands(program, context);
  addExplainTransferCommand(program, context);
  addReportCommand(program, context);
  addKeysCommands(program, context);
  addSecretsCommands(program, context);
  addSignatureCommands(program, context);
  addVerifyCommands(program, context);
  addAuditCommands(program, context);
  addWebhookCommands(program, context);
  addAutoDelegationCommands(program, context);
  addConsoleCommands(program, context);
  addListenCommand(program, context);
  return program;
}

/** Runs one command line (without node and script). Resolves with the exit code, never rejects. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const context = new CliContext(terminal);
  const isJson = args.includes('--json');
  try {
    await buildProgram(context).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    const fault = failureOf(error);
    if (fault.exitCode === 0) return 0;
    terminal.err(
      isJson ? `${JSON.stringify({ ok: false, error: fault.code, msg: fault.message })}\n` : `${fault.message}\n`,
    );
    return fault.exitCode;
  }
}
