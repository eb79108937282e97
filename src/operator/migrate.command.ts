/**
 * `migrate`: needs only a database, and MASTER_KEY to write the canaries of its keys, so that it can be the first
 * command on a new machine.
 */
import type { Command } from 'commander';
import { postgresHosts } from '../base/postgres-url.js';
import { readSealKeys, readSecret } from '../config/config.js';
import { AdoptionRefusedError } from '../store/adopt-baseline.js';
import {
  adopt,
  giveRoles,
  migrateDown,
  MigrationKeptError,
  migrateUp,
  pendingMigrations,
  rolesPlan,
  RolesRefusedError,
  seedCanaries,
} from '../store/migrate.js';
import { loginNamed } from '../store/roles.js';
import type { CliContext } from './cli-context.js';
import { OperatorError, usageError } from '../domain/operator-error.js';
import { loginsFrom, passwordSetting } from './role-logins.js';

export function addMigrateCommands(program: Command, context: CliContext): void {
  const migrate = program.command('migrate').description('bring the database to this version (same as migrate up)');
  const up = async (): Promise<void> => {
    const done = await bringUp(context);
    context.print(done.length === 0 ? 'Nothing to do: the database is current.' : `Migrated: ${done.join(', ')}.`, {
      migrated: done,
    });
  };
  migrate.action(up);
  migrate.command('up').description('run what is pending').action(up);
  migrate
    .command('down')
    .description('undo the newest migration, and it alone, with the data it held; never while anything is open')
    .option('--database <name>', 'the name of the database that DATABASE_URL leads to')
    .action(async (options: { database?: string }) => {
      const act = 'This undoes the newest migration and destroys the data in its tables.';
      const database = options.database ?? (await context.askFor(act, 'the name of the database', '--database NAME'));
      await context.confirm(act);
      const { undone, remaining } = await migrateDown(databaseUrl(context), {
        database,
        isPooled: readSecret(context.terminal.env, 'DATABASE_DIRECT_URL') !== undefined,
      }).catch((error: unknown) => {
        throw keptOr(error);
      });
      context.print(`Undid ${undone}. The database still has ${remaining.join(', ') || 'none'}.`, {
        undone,
        remaining,
      });
    });
  migrate
    .command('check')
    .description('exit 0 when the database is current, 1 when migrations are pending')
    .action(async () => {
      const pending = await pendingMigrations(databaseUrl(context));
      if (pending.length > 0) {
        throw new OperatorError(`Pending: ${pending.join(', ')}. Run \`npm run cli -- migrate\`.`, 1, 'NOT_MIGRATED');
      }
      context.print('The database is current.', { pending });
    });
  addAdoption(migrate, context);
  addRoles(migrate, context);
}

function addAdoption(migrate: Command, context: CliContext): void {
  migrate
    .command('adopt-baseline')
    .description(
      'once for a database that was made before the first release: replace its list of migrations by the baseline',
    )
    .action(async () => {
      await adopt(databaseUrl(context)).catch((error: unknown) => {
        throw error instanceof AdoptionRefusedError ? new OperatorError(error.message, 1, 'ADOPTION_REFUSED') : error;
      });
      context.print('The database is on the baseline. Run `migrate` for newer migrations.', { adopted: true });
    });
}

const keptOr = (error: unknown): unknown =>
  error instanceof MigrationKeptError ? new OperatorError(error.message, 1, 'MIGRATION_KEPT') : error;

/** Migrates and writes the canaries. Returns the names of the migrations that ran. */
async function bringUp(context: CliContext): Promise<string[]> {
  const sealKeys = readSealKeys(context.terminal.env);
  const done = await migrateUp(databaseUrl(context)).catch((error: unknown) => {
    throw keptOr(error);
  });
  if (sealKeys.size === 0) {
    context.warn('MASTER_KEY is not set: a process with a wrong one will be noticed once this ran with it.');
  } else {
    const { Sealers } = await import('../base/sealers.js');
    await seedCanaries(databaseUrl(context), new Sealers({ sealKeys }).held);
  }
  return done;
}

function addRoles(migrate: Command, context: CliContext): void {
  migrate
    .command('roles')
    .description(
      'make a database role for each process, with what it needs and no more; doing it again changes nothing',
    )
    .option('--login', `make a login for each role whose password is set: ${passwordSetting('api')}, … or …_FILE`)
    .option('--sql', 'do nothing, print the statements for whoever may run them')
    .action(async (options: { login?: true; sql?: true }) => {
      const url = databaseUrl(context);
      if (options.sql === true) {
        const pending = await pendingMigrations(url);
        if (pending.length > 0) {
          throw new OperatorError(`Pending: ${pending.join(', ')}. Run \`migrate\` first.`, 1, 'NOT_MIGRATED');
        }
        const statements = await rolesPlan(url);
        context.print(asScript(statements), { statements });
        return;
      }
      const logins = options.login === true ? loginsFrom(context.terminal.env) : [];
      if (options.login === true && logins.length === 0) {
        throw usageError(`No password is set: ${passwordSetting('api')}, ${passwordSetting('worker')} and so on.`);
      }
      const migrated = await bringUp(context);
      try {
        const statements = await giveRoles(url, logins);
        const names = logins.map(({ role }) => loginNamed(role));
        const made = names.length === 0 ? '' : ` Logins with the passwords given: ${names.join(', ')}.`;
        context.print(`The schema is current, the roles are there, and this database is theirs.${made}`, {
          migrated,
          statements,
          logins: names,
        });
      } catch (error) {
        if (!(error instanceof RolesRefusedError)) throw error;
        const says = `This user may not: ${error.message}. The schema is current, no role was touched. Let an administrator run what \`migrate roles --sql\` prints, and make the logins.`;
        throw new OperatorError(says, 1, 'NOT_PERMITTED');
      }
    });
}

function asScript(statements: readonly string[]): string {
  if (statements.length === 0) return '-- Nothing to do.';
  return ['BEGIN', ...statements, 'COMMIT'].map((statement) => `${statement};`).join('\n');
}

function databaseUrl(context: CliContext): string {
  const { env } = context.terminal;
  // A session lock is held throughout; a pooler would give the session to another client.
  const direct = readSecret(env, 'DATABASE_DIRECT_URL');
  const url = direct ?? readSecret(env, 'DATABASE_URL') ?? '';
  const hosts = postgresHosts(url);
  if (typeof hosts === 'string') {
    const says = url === '' ? 'is required and starts with postgres://' : hosts;
    throw new OperatorError(
      `Configuration: ${direct === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL'} ${says}.`,
      1,
      'CONFIGURATION',
    );
  }
  return url;
}
