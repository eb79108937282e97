/**
 * Runs the handler of a route of a project for that project alone: the database shows no other's rows. Few of one merchant's
 * project run at once, and its further ones wait, so that one page that asks for everything keeps no other project waiting.
 */
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request } from 'express';
import { defer, lastValueFrom, type Observable } from 'rxjs';
import { FairQueue } from '../base/fair-queue.js';
import { Config } from '../config/config.js';
import { forProject } from '../store/project-scope.js';
import { admittedOf } from './caller.js';

/** The part of the connections to Postgres that one project may take. */
const CONNECTIONS_SHARE = 0.25;
/** Files are written as fast as they are taken, which may be slowly: they wait for each other alone. */
const FILES_AT_ONCE = 2;
const LIMITS = { total: 10_000, waitingMax: 10_000, waitingPerProject: 200, waitMs: 10_000 } as const;

@Injectable()
export class ProjectScopeInterceptor implements NestInterceptor {
  private readonly pages: FairQueue;
  private readonly files = new FairQueue({ ...LIMITS, perProject: FILES_AT_ONCE });

  constructor({ database }: Config) {
    const perProject = Math.max(2, Math.floor(database.poolMax * CONNECTIONS_SHARE));
    this.pages = new FairQueue({ ...LIMITS, perProject });
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request>();
    const caller = admittedOf(request)?.caller;
    const projectId = caller?.projectId;
    if (projectId === undefined) return next.handle();
    // The handler begins with the subscription, so that it is what runs within the scope.
    const handle = async (): Promise<unknown> =>
      forProject(projectId, async () =>
        lastValueFrom(next.handle() as Observable<unknown>, { defaultValue: undefined }),
      );
    if (caller?.audience !== 'merchant') return defer(handle);
    const queue = request.path.endsWith('.csv') ? this.files : this.pages;
    return defer(async () => queue.run(projectId, handle));
  }
}
