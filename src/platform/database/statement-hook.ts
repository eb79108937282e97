/** Hooks before and after named statements of a process. Tests use them to kill the process there. */
import { around } from '../support/crash-point.js';
import type { Database, Statement } from './database.js';

interface StatementHook {
  /** Called before a statement is sent. */
  readonly before?: () => void;
  /** Called after the commit: of the statement itself, or of its transaction. */
  readonly after?: () => void;
}

/** Calls the hooks around the statements with these names, alone or within a transaction. */
export function aroundStatements(database: Database, names: readonly string[], { before, after }: StatementHook): void {
  const matches = (statement: Statement | string): boolean =>
    typeof statement !== 'string' && statement.name !== undefined && names.includes(statement.name);
  around(database, 'query', {
    before: (statement) => {
      if (matches(statement)) before?.();
    },
    after: (statement) => {
      if (matches(statement)) after?.();
    },
  });
  const transaction: Database['transaction'] = database.transaction.bind(database);
  database.transaction = async (work) => {
    const { result, isMet } = await transaction(async (tx) => {
      let hasRun = false;
      const hooked = await work({
        ...tx,
        query: async (statement, params) => {
          if (matches(statement)) {
            hasRun = true;
            before?.();
          }
          return tx.query(statement, params);
        },
      });
      return { result: hooked, isMet: hasRun };
    });
    if (isMet) after?.();
    return result;
  };
}
