/**
 * Declares the permitted callers of each console route. The guard uses nothing else and refuses a route without a
 * declaration; a test checks every route.
 *
 *   @Controller('api/projects/:project_id/keys')
 *   class KeysController {
 *     @Post() @Authority({ merchant: ['owner'], operator: ['admin'], scope: 'project', again: true })
 *     create(@Person() caller: ConsoleCaller, @Param('project_id') project: string, @Body() request: KeyRequest) {}
 *   }
 */
import { SetMetadata } from '@nestjs/common';
import type { Audience, OperatorRole, PersonRole, ProjectRole } from '../../domain/audience.js';

export const AUTHORITY = 'console:authority';

/** A route for signed-in people, by role. At least one of `merchant` and `operator` is set. */
export interface RoleAuthority {
  /** Roles of merchants; if absent, a merchants' console does not have this route. */
  readonly merchant?: readonly ProjectRole[];
  readonly operator?: readonly OperatorRole[];
  /**
   * `project`: the path names one as `:project_id`; a merchant must be its member with one of the roles, and an
   * operator's read is audited. `service`: no project (operators only). `self`: the person's own data; any role
   * suffices.
   */
  readonly scope: 'project' | 'service' | 'self';
  /** Parameter of a `service` route's path or query that names one project; its reads are audited too. */
  readonly auditsReadOf?: 'id' | 'project';
  /** Requires that the password (and code) was given within the last ten minutes. */
  readonly again?: true;
}

/** A route without a session, or for a session that is not complete yet. */
export interface OpenAuthority {
  /**
   * `anyone`: no session is needed. `any_stage`: any active session, regardless of its stage. `second_factor`: one that
   * waits for its code. `enrol`: one that must set up a second factor, or is complete.
   */
  readonly open: 'anyone' | 'any_stage' | 'second_factor' | 'enrol';
  readonly again?: true;
}

export type AuthorityTerms = RoleAuthority | OpenAuthority;

export const Authority = (terms: AuthorityTerms) => SetMetadata(AUTHORITY, terms);

/** The caller that the guard identified; handlers receive it by `@Person()`. */
export interface ConsoleCaller {
  readonly audience: Audience;
  readonly personId: string;
  readonly email: string;
  readonly sessionId: string;
  /** Role in the project of the path, or as an operator. */
  readonly role: PersonRole | undefined;
  /** Id from the path, if the route's scope is a project. */
  readonly projectId: string | undefined;
  readonly requestId: string;
}
