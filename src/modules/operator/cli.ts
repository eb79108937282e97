/**
 * The operator's command line: builds the commands, runs one of them, and reports its failure. A command's module is
 * loaded only for a command line that names it: all of them load the whole service, which takes most of a second.
 */
import { Command, CommanderError } from 'commander';
import { CliContext, type GlobalOptions, type Terminal } from './cli-context.js';
import type { ExitCode } from '../../domain/operator-error.js';

type AddCommand = (program: Command, context: CliContext) => void;

/** A command as the list of commands shows it. A test compares it with the command that its module adds. */
interface ListedCommand {
  readonly name: string;
  readonly description: string;
  readonly takesOptions?: boolean;
  readonly argument?: string;
  readonly load: () => Promise<AddCommand>;
}

export const COMMANDS: readonly ListedCommand[] = [
  {
    name: 'migrate',
    description: 'migrate the database to this version (same as migrate up)',
    load: async () => (await import('./migrate.command.js')).addMigrateCommands,
  },
  {
    name: 'doctor',
    description: 'check all dependencies and settings; exit code 1 if something does not work',
    takesOptions: true,
    load: async () => (await import('./doctor.command.js')).addDoctorCommand,
  },
  {
    name: 'project',
    description: 'manage projects: keys, terms, options',
    load: async () => (await import('./project.command.js')).addProjectCommands,
  },
  {
    name: 'credits',
    description: 'book and list a project’s credits',
    load: async () => (await import('./credits.command.js')).addCreditsCommands,
  },
  {
    name: 'deposits',
    description: 'manage on-chain deposits',
    load: async () => (await import('./deposits.command.js')).addDepositsCommands,
  },
  {
    name: 'statements',
    description: 'read monthly statements of the ledger, which never change',
    load: async () => (await import('./statements.command.js')).addStatementsCommands,
  },
  {
    name: 'price',
    description: 'manage the price table by rental duration',
    load: async () => (await import('./price.command.js')).addPriceCommands,
  },
  {
    name: 'pool',
    description: 'manage the wallets whose stake is rented out',
    load: async () => (await import('./pool.command.js')).addPoolCommands,
  },
  {
    name: 'orders',
    description: 'inspect and repair orders',
    load: async () => (await import('./orders.command.js')).addOrdersCommands,
  },
  {
    name: 'explain-transfer',
    description: 'explain why a transaction of a receiver burnt TRX or failed',
    takesOptions: true,
    argument: '<txid>',
    load: async () => (await import('./explain-transfer.command.js')).addExplainTransferCommand,
  },
  {
    name: 'report',
    description: 'report revenue, refunds, chain costs and margin per UTC day, project or wallet',
    takesOptions: true,
    load: async () => (await import('./report.command.js')).addReportCommand,
  },
  {
    name: 'keys',
    description: 'manage API keys of projects; rotate MASTER_KEY',
    load: async () => (await import('./keys.command.js')).addKeysCommands,
  },
  {
    name: 'secrets',
    description: 'derive the keys that single processes take instead of MASTER_KEY',
    load: async () => (await import('./secrets.command.js')).addSecretsCommands,
  },
  {
    name: 'signature',
    description: 'debug request signatures',
    load: async () => (await import('./signature.command.js')).addSignatureCommands,
  },
  {
    name: 'verify',
    description: 'check the records against their rules and the chain; exit code 1 on any finding',
    takesOptions: true,
    load: async () => (await import('./verify.command.js')).addVerifyCommands,
  },
  {
    name: 'audit',
    description: 'read the audit log',
    load: async () => (await import('./audit.command.js')).addAuditCommands,
  },
  {
    name: 'webhooks',
    description: 'manage webhooks and their deliveries',
    load: async () => (await import('./webhooks.command.js')).addWebhookCommands,
  },
  {
    name: 'auto-delegations',
    description: 'manage auto-delegations: addresses that are kept supplied with energy',
    load: async () => (await import('./auto-delegations.command.js')).addAutoDelegationCommands,
  },
  {
    name: 'console',
    description: 'manage the people of the consoles',
    load: async () => (await import('./console.command.js')).addConsoleCommands,
  },
  {
    name: 'listen',
    description: 'show a project’s events live and forward them to a URL on your machine',
    takesOptions: true,
    load: async () => (await import('./listen.command.js')).addListenCommand,
  },
];

/** Returns a command for the list alone: no command line that reaches it names it. */
function listed({ name, description, takesOptions, argument }: ListedCommand): Command {
  const command = new Command(name).description(description);
  if (takesOptions === true) command.option('--any');
  return argument === undefined ? command : command.argument(argument);
}

async function buildProgram(args: readonly string[], context: CliContext): Promise<Command> {
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
  for (const command of COMMANDS) {
    if (args.includes(command.name)) (await command.load())(program, context);
    else program.addCommand(listed(command));
  }
  return program;
}

/** Runs one command line (without node and script). Resolves with the exit code, never rejects. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const context = new CliContext(terminal);
  const isJson = args.includes('--json');
  try {
    await (await buildProgram(args, context)).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    // The help.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { failureOf } = await import('./cli-failure.js');
    const fault = failureOf(error);
    if (fault.exitCode === 0) return 0;
    terminal.err(
      isJson ? `${JSON.stringify({ ok: false, error: fault.code, msg: fault.message })}\n` : `${fault.message}\n`,
    );
    return fault.exitCode;
  }
}
