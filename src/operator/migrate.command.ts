/** `migrate`: needs a database and nothing else, so that it can be the first command on a new machine. */
import type { Command } from 'commander';
import { migrateDown, migrateUp, pendingMigrations } from '../store/migrate.js';
import type { Desk } from './desk.js';
import { OperatorError } from './fault.js';

export function addMigrateCommands(program: Command, desk: Desk): void {
  const migrate = program.command('migrate').description('bring the database to this version (same as migrate up)');
  const up = async (): Promise<void> => {
    const done = await migrateUp(databaseUrl(desk));
    desk.print(done.length === 0 ? 'Nothing to do: the database is current.' : `Migrated: ${done.join(', ')}.`, {
      migrated: done,
    });
  };
  migrate.action(up);
  migrate.command('up').description('run what is pending').action(up);
  migrate
    .command('down')
    .description('take the newest migration back, with the data it held')
    .action(async () => {
      await desk.confirm('This takes back the newest migration and destroys the data in its tables.');
      await migrateDown(databaseUrl(desk));
      desk.print('Took the newest migration back.', { migrated: [] });
    });
  migrate
    .command('check')
    .description('exit 0 when the database is current, 1 when migrations are pending')
    .action(async () => {
      const pending = await pendingMigrations(databaseUrl(desk));
      if (pending.length > 0) {
        throw new OperatorError(`Pending: ${pending.join(', ')}. Run \`npm run cli -- migrate\`.`, 1, 'NOT_MIGRATED');
      }
      desk.print('The database is current.', { pending });
    });
}

function databaseUrl(desk: Desk): string {
  const url = desk.terminal.env['DATABASE_URL']?.trim() ?? '';
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new OperatorError('Configuration: DATABASE_URL is required and starts with postgres://.', 1, 'CONFIGURATION');
  }
  return url;
}
