/**
 * Runs a project route's handler in that project's scope: the database shows no other project's rows. Limits the
 * concurrent requests of one merchant's project, and queues the rest, so that one busy page does not delay other
 * projects.
 */
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request } from 'express';
import { defer, lastValueFrom, type Observable } from 'rxjs';
import { FairQueue } from '../../platform/support/fair-queue.js';
import { Config } from '../../platform/config/config.js';
import { forProject } from '../../platform/database/project-scope.js';
import { admittedOf } from './caller.js';

/** Part of the Postgres connections that one project may use. */
const CONNECTIONS_SHARE = 0.25;
/** Separate limit for files, because slow readers hold them open; they delay only each other. */
const CONCURRENT_FILES = 2;
const LIMITS = { total: 10_000, waitingMax: 10_000, waitingPerProject: 200, waitMs: 10_000 } as const;

@Injectable()
export class ProjectScopeInterceptor implements NestInterceptor {
  private readonly pages: FairQueue;
  private readonly files = new FairQueue({ ...LIMITS, perProject: CONCURRENT_FILES });

  constructor({ database }: Config) {
    const perProject = Math.max(2, Math.floor(database.poolMax * CONNECTIONS_SHARE));
    this.pages = new FairQueue({ ...LIMITS, perProject });
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request>();
    const caller = admittedOf(request)?.caller;
    const projectId = caller?.projectId;
    if (projectId === undefined) return next.handle();
    // The handler starts on subscription, so subscribing inside the scope is sufficient.
    const handle = async (): Promise<unknown> =>
      forProject(projectId, async () =>
        lastValueFrom(next.handle() as Observable<unknown>, { defaultValue: undefined }),
      );
    if (caller?.audience !== 'merchant') return defer(handle);
    const queue = request.path.endsWith('.csv') ? this.files : this.pages;
    return defer(async () => queue.run(projectId, handle));
  }
}
