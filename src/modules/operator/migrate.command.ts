/**
 * `migrate`: needs only a database, and MASTER_KEY to write the canaries of its keys, so that it can be the first
 * command on a new machine.
 */
import type { Command } from 'commander';
import { postgresHosts } from '../../platform/support/postgres-url.js';
import { readSealKeys, readSecret } from '../../platform/config/config.js';
import { AdoptionRefusedError } from '../../platform/database/adopt-baseline.js';
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
} from '../../platform/database/migrate.js';
import { loginNamed } from '../../platform/database/roles.js';
import type { CliContext } from './cli-context.js';
import { OperatorError, usageError } from '../../domain/operator-error.js';
import { loginsFrom, passwordSetting } from './role-logins.js';

export function addMigrateCommands(program: Command, context: CliContext): void {
  const migrate = program.command('migrate').description('migrate the database to this version (same as migrate up)');
  const up = async (): Promise<void> => {
    const done = await bringUp(context);
    context.print(done.length === 0 ? 'The database is up to date.' : `Migrated: ${done.join(', ')}.`, {
      migrated: done,
    });
  };
  migrate.action(up);
  migrate.command('up').description('run pending migrations').action(up);
  migrate
    .command('down')
    .description('revert only the newest migration and delete its data; refused while the database is in use')
    .option('--database <name>', 'confirm the name of the database of DATABASE_URL')
    .action(async (options: { database?: string }) => {
      const act = 'This reverts the newest migration and deletes the data in its tables.';
      const database = options.database ?? (await context.askFor(act, 'the name of the database', '--database NAME'));
      await context.confirm(act);
      const { undone, remaining } = await migrateDown(databaseUrl(context), {
        database,
        isPooled: readSecret(context.terminal.env, 'DATABASE_DIRECT_URL') !== undefined,
      }).catch((error: unknown) => {
        throw keptOr(error);
      });
      context.print(`Reverted ${undone}. The database still has ${remaining.join(', ') || 'none'}.`, {
        undone,
        remaining,
      });
    });
  migrate
    .command('check')
    .description('exit code 0 if the database is up to date, 1 if migrations are pending')
    .action(async () => {
      const pending = await pendingMigrations(databaseUrl(context));
      if (pending.length > 0) {
        throw new OperatorError(`Pending: ${pending.join(', ')}. Run \`npm run cli -- migrate\`.`, 1, 'NOT_MIGRATED');
      }
      context.print('The database is up to date.', { pending });
    });
  addAdoption(migrate, context);
  addRoles(migrate, context);
}

function addAdoption(migrate: Command, context: CliContext): void {
  migrate
    .command('adopt-baseline')
    .description('once, for a database from before the first release: replace its list of migrations with the baseline')
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
    context.warn(
      'MASTER_KEY is not set, so the key canary was not stored. Run `migrate` again with MASTER_KEY, and processes with a wrong key are detected.',
    );
  } else {
    const { Sealers } = await import('../../platform/support/sealers.js');
    await seedCanaries(databaseUrl(context), new Sealers({ sealKeys }).held);
  }
  return done;
}

function addRoles(migrate: Command, context: CliContext): void {
  migrate
    .command('roles')
    .description('create a database role with minimal privileges for each process; safe to repeat')
    .option('--login', `create a login for each role that has a password in ${passwordSetting('api')}, … or …_FILE`)
    .option('--sql', 'only print the statements, for an administrator to run')
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
        throw usageError(`No password is set. Set ${passwordSetting('api')}, ${passwordSetting('worker')} and so on.`);
      }
      const migrated = await bringUp(context);
      try {
        const statements = await giveRoles(url, logins);
        const names = logins.map(({ role }) => loginNamed(role));
        const made = names.length === 0 ? '' : ` Logins with these passwords: ${names.join(', ')}.`;
        context.print(`The schema is up to date, and the roles exist with their privileges on this database.${made}`, {
          migrated,
          statements,
          logins: names,
        });
      } catch (error) {
        if (!(error instanceof RolesRefusedError)) throw error;
        const says = `This user lacks the permission: ${error.message}. The schema is up to date, but no role was changed. Have an administrator run the output of \`migrate roles --sql\` and create the logins.`;
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
    const says = url === '' ? 'is required and must start with postgres://' : hosts;
    throw new OperatorError(
      `Configuration: ${direct === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL'} ${says}.`,
      1,
      'CONFIGURATION',
    );
  }
  return url;
}
