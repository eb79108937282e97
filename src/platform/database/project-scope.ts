/**
 * Project scope of a request. Statements within a scope run under the setting that row-level security reads. Outside of
 * a scope, a process for merchants sees no project's rows.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import type pg from 'pg';
import { Database, type Lent } from './database.js';
import { PROJECT_SETTING } from './merchant-grants.js';
import { UUID } from '../../domain/uuid.js';

const scope = new AsyncLocalStorage<string>();

/** Runs `work`, including everything that it awaits, for one project alone. */
export function forProject<T>(projectId: string, work: () => T): T {
  return scope.run(projectId, work);
}

/** Statement timeout within a scope. A browser waits for the answer. */
const STATEMENT_MS = 5000;

/** Returns the statements that open each transaction in a scope. */
function opening(projectId: string, isReadOnly: boolean): string {
  // The id becomes part of the text, because several statements in one message take no parameters.
  if (!UUID.test(projectId)) throw new Error('a scope is a project');
  return [
    isReadOnly ? 'BEGIN READ ONLY' : 'BEGIN',
    `SET LOCAL ${PROJECT_SETTING} = '${projectId}'`,
    `SET LOCAL statement_timeout = ${STATEMENT_MS.toString()}`,
  ].join('; ');
}

/**
 * The database of a console: every statement of a scope, also a repository's, runs in a transaction that names its
 * project.
 */
@Injectable()
export class ProjectDatabase extends Database {
  protected override async begin(client: pg.PoolClient): Promise<void> {
    const projectId = scope.getStore();
    await client.query(projectId === undefined ? 'BEGIN' : opening(projectId, false));
  }

  protected override isInTransaction(): boolean {
    return scope.getStore() !== undefined;
  }

  /** Lends repositories a connection for reads outside of our transactions; they may write nothing there. */
  protected override async lendConnection([client, release]: Lent): Promise<Lent> {
    const projectId = scope.getStore();
    if (projectId === undefined) return [client, release];
    try {
      await client.query(opening(projectId, true));
    } catch (error) {
      release(error as Error);
      throw error;
    }
    return [
      client,
      (fault) => {
        if (fault !== undefined) release(fault);
        else client.query('COMMIT').then(() => release(), release);
      },
    ];
  }
}
