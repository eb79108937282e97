/**
 * Whose data a request may see. What runs within a scope reads and writes under the setting that row-level security asks
 * for; a process for merchants shows outside of it no project's row at all. Owns no table.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import type pg from 'pg';
import { Database, type Lent } from './database.js';
import { PROJECT_SETTING } from './merchant-grants.js';

const scope = new AsyncLocalStorage<string>();

/** Runs `work`, and whatever it awaits, for one project alone. */
export function forProject<T>(projectId: string, work: () => T): T {
  return scope.run(projectId, work);
}

/** A browser waits for it; what takes longer is no list. */
const STATEMENT_MS = 5000;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The statements in front of everything that runs in a scope. */
function opening(projectId: string, isReadOnly: boolean): string {
  // It goes into the text: no parameters are taken where several statements are sent at once.
  if (!UUID.test(projectId)) throw new Error('a scope is a project');
  return [
    isReadOnly ? 'BEGIN READ ONLY' : 'BEGIN',
    `SET LOCAL ${PROJECT_SETTING} = '${projectId}'`,
    `SET LOCAL statement_timeout = ${STATEMENT_MS.toString()}`,
  ].join('; ');
}

/** Of a console: every statement of a scope is in a transaction that names its project, a repository's too. */
@Injectable()
export class ProjectDatabase extends Database {
  protected override async begin(client: pg.PoolClient): Promise<void> {
    const projectId = scope.getStore();
    await client.query(projectId === undefined ? 'BEGIN' : opening(projectId, false));
  }

  protected override isInTransaction(): boolean {
    return scope.getStore() !== undefined;
  }

  /** What a repository reads outside of a transaction of ours; it may write nothing there. */
  protected override async lent([client, release]: Lent): Promise<Lent> {
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
