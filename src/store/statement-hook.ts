/** Hooks a process's database by the names of its statements; for tests that end the process there. */
import { around } from '../base/crash-point.js';
import type { Database, Statement } from './database.js';

interface StatementHook {
  /** Called when one is about to be sent. */
  readonly before?: () => void;
  /** Called when one is committed: immediately, or with its transaction. */
  readonly after?: () => void;
}

/** Calls the hook around the statements of these names, each by itself or within a transaction. */
export function aroundStatements(database: Database, names: readonly string[], { before, after }: StatementHook): void {
  const isMeant = (statement: Statement | string): boolean =>
    typeof statement !== 'string' && statement.name !== undefined && names.includes(statement.name);
  around(database, 'query', {
    before: (statement) => {
      if (isMeant(statement)) before?.();
    },
    after: (statement) => {
      if (isMeant(statement)) after?.();
    },
  });
  const transaction: Database['transaction'] = database.transaction.bind(database);
  database.transaction = async (work) => {
    const { result, isMet } = await transaction(async (tx) => {
      let hasRun = false;
      const hooked = await work({
        ...tx,
        query: async (statement, params) => {
          if (isMeant(statement)) {
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
