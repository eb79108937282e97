/**
 * What each route of the console declares about who may call it. The guard judges by nothing else, and a test walks
 * every route: one without a declaration answers nobody.
 *
 *   @Controller('api/projects/:project_id/keys')
 *   class KeysController {
 *     @Post() @Authority({ merchant: ['owner'], operator: ['admin'], scope: 'project', again: true })
 *     create(@Person() caller: ConsoleCaller, @Param('project_id') project: string, @Body() request: KeyRequest) {}
 *   }
 */
import { SetMetadata } from '@nestjs/common';
import type { Audience, OperatorRole, PersonRole, ProjectRole } from '../domain/audience.js';

export const AUTHORITY = 'console:authority';

/** A route that takes who is signed in, by role. At least one of `merchant` and `operator`. */
export interface RoleAuthority {
  /** Who of merchants; a console of the other audience has no such route. */
  readonly merchant?: readonly ProjectRole[];
  readonly operator?: readonly OperatorRole[];
  /**
   * `project`: the path names one as `:project_id`; a merchant must be its member with one of the roles, and an
   * operator's look is audited. `service`: no project (operators alone). `self`: the person's own; any role will do.
   */
  readonly scope: 'project' | 'service' | 'self';
  /** The parameter of a `service` route’s path or query that names one project: a look at that one is audited as well. */
  readonly looksAt?: 'id' | 'project';
  /** Wants the password (and code) given within the last ten minutes. */
  readonly again?: true;
}

/** A route without a session, or with one that is not whole yet. */
export interface OpenAuthority {
  /**
   * `anyone`: nobody needs to be signed in. `any_stage`: any living session, whatever it waits for. `second_factor`: one
   * that waits for its code. `enrol`: one that has still to set up a second factor, or is whole.
   */
  readonly open: 'anyone' | 'any_stage' | 'second_factor' | 'enrol';
  readonly again?: true;
}

export type AuthorityTerms = RoleAuthority | OpenAuthority;

export const Authority = (terms: AuthorityTerms) => SetMetadata(AUTHORITY, terms);

/** Who calls, as the guard found them; handlers get it by `@Person()`. */
export interface ConsoleCaller {
  readonly audience: Audience;
  readonly personId: string;
  readonly email: string;
  readonly sessionId: string;
  /** In the project of the path, or of the operator. */
  readonly role: PersonRole | undefined;
  /** Of the path, where the route's scope is a project. */
  readonly projectId: string | undefined;
  readonly sourceAddress: string;
  readonly requestId: string;
}
