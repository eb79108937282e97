/** Runs the handler of a route of a project for that project alone: the database shows no other's rows. */
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request } from 'express';
import { Observable } from 'rxjs';
import { forProject } from '../store/project-scope.js';
import { admittedOf } from './caller.js';

@Injectable()
export class ProjectScopeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const projectId = admittedOf(context.switchToHttp().getRequest<Request>())?.caller?.projectId;
    if (projectId === undefined) return next.handle();
    // The handler begins with the subscription, so that is what runs within the scope.
    return new Observable((subscriber) => forProject(projectId, () => next.handle().subscribe(subscriber)));
  }
}
