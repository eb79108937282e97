/**
 * The guard of every console route. Compares the route's declaration (authority.ts) with the signed-in person. It
 * checks, in this order: declaration, audience, session, stage, role, project, fresh sign-in, the person's budget,
 * body. Refuses routes without a declaration.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { ConsoleError } from '../../domain/console-error.js';
import { ApiError, invariant } from '../../domain/errors.js';
import { UUID } from '../../domain/uuid.js';
import { receiveBody } from '../../platform/http/body/read-body.js';
import { plainOf } from '../../platform/http/body/plain-values.js';
import { requestContextOf } from '../../platform/http/pipeline/request-context.js';
import { AddressList, sourceAddressOf } from '../../platform/http/pipeline/source-address.js';
import type { MembershipRow, SessionRow } from '../people/sessions.js';
import { Sessions } from '../people/sessions.js';
import type { Visitor } from '../people/sign-in.js';
import { AUTHORITY, type AuthorityTerms, type ConsoleCaller, type RoleAuthority } from './authority.js';
import { setAdmitted } from './caller.js';
import { deviceCookie, sessionCookie } from './cookies.js';
import { AccessAudit } from './access-audit.js';
import { PersonBudget } from './person-budget.js';

const signInFirst = (): ConsoleError => new ConsoleError('SIGN_IN', 'Sign in.');
const noSuchPath = (): ApiError => new ApiError('NOT_FOUND', 'There is nothing at this path.');
const forbidden = (): ConsoleError => new ConsoleError('FORBIDDEN', 'Your role does not allow this.');

@Injectable()
export class AuthorityGuard implements CanActivate {
  private readonly trustedProxies: AddressList;

  constructor(
    private readonly config: ConsoleConfig,
    private readonly sessions: Sessions,
    private readonly accessAudit: AccessAudit,
    private readonly budget: PersonBudget,
    private readonly reflector: Reflector,
  ) {
    this.trustedProxies = new AddressList(config.http.trustedProxies);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const requestContext = requestContextOf(request);
    invariant(requestContext?.route !== undefined, 'every request passes the pipeline first');
    const { route, requestId } = requestContext;
    const terms = this.reflector.get<AuthorityTerms | undefined>(AUTHORITY, context.getHandler());
    if (terms === undefined) throw forbidden();
    if ('scope' in terms && terms[this.config.audience] === undefined) throw noSuchPath();
    const visitor = this.visitorOf(request, context.switchToHttp().getResponse<ServerResponse>());
    let admitted = await this.admit(request, terms, requestId);
    if (admitted.session !== undefined) await this.budget.take(admitted.session.person_id);
    if (admitted.caller?.audience === 'operator') {
      const { caller } = admitted;
      const seen = caller.projectId ?? projectSeen(terms, request);
      if (seen !== undefined) await this.accessAudit.recordAccess(caller, seen, route.pattern);
    }
    const limits = { limitBytes: route.bodyLimitBytes, timeoutMs: this.config.http.requestTimeoutSec * 1000 };
    const body = await receiveBody(request, limits);
    if (body !== undefined) {
      request.body = plainOf(body.root);
      // A body may take long to arrive, so a person who was signed out or removed meanwhile is refused.
      admitted = await this.admit(request, terms, requestId);
    }
    const { session, caller } = admitted;
    const isUse = request.headers['x-background'] === undefined;
    const seen = session !== undefined && isUse ? await this.sessions.recordUse(session) : session;
    setAdmitted(request, { visitor, session: seen, caller });
    return true;
  }

  /** Returns the present session and caller of the request. Throws 401, 403 and 404. */
  private async admit(
    request: Request,
    terms: AuthorityTerms,
    requestId: string,
  ): Promise<{ readonly session: SessionRow | undefined; readonly caller: ConsoleCaller | undefined }> {
    if ('open' in terms && terms.open === 'anyone') return { session: undefined, caller: undefined };
    const session = await this.sessionOf(request);
    requireStage(session, terms);
    const caller = 'scope' in terms ? this.callerOf(session, terms, request, requestId) : undefined;
    if (terms.again === true && session.now > session.fresh_until) {
      throw new ConsoleError('SIGN_IN_AGAIN', 'This action needs your password again.');
    }
    return { session, caller };
  }

  private visitorOf(request: Request, response: ServerResponse): Visitor {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    return {
      signal: gone.signal,
      audience: this.config.audience,
      address: sourceAddressOf(request, this.trustedProxies),
      userAgent: request.headers['user-agent'] ?? '',
      deviceCookie: deviceCookie(request, this.config),
    };
  }

  private async sessionOf(request: Request): Promise<SessionRow> {
    const token = sessionCookie(request, this.config);
    const session = token === undefined ? undefined : await this.sessions.find(token, this.config.audience);
    // A person without memberships cannot use the console, even with a remaining session.
    if (session === undefined || session.memberships.length === 0) throw signInFirst();
    return session;
  }

  /**
   * Throws 404 for a project that the merchant is not a member of, as for one that does not exist; 403 if the role does
   * not suffice.
   */
  private callerOf(session: SessionRow, terms: RoleAuthority, request: Request, requestId: string): ConsoleCaller {
    const { audience } = this.config;
    const allowed: readonly string[] = terms[audience] ?? [];
    const projectId = terms.scope === 'project' ? projectOf(request) : undefined;
    const held =
      terms.scope === 'project' && audience === 'merchant'
        ? session.memberships.filter((each) => each.project_id === projectId)
        : session.memberships;
    if (held.length === 0) throw noSuchPath();
    const [membership] = held.filter(({ role }) => allowed.includes(role));
    if (membership === undefined) throw forbidden();
    return {
      audience,
      personId: session.person_id,
      email: session.email,
      sessionId: session.id,
      role: terms.scope === 'self' ? roleOf(session.memberships) : membership.role,
      projectId,
      requestId,
    };
  }
}

/** An operator has one role; a merchant has one in each project. */
const roleOf = (memberships: readonly MembershipRow[]) => memberships.find((each) => each.project_id === null)?.role;

function projectOf(request: Request): string {
  const id = request.params['project_id'];
  if (typeof id !== 'string' || !UUID.test(id)) throw noSuchPath();
  return id;
}

/** Returns the one project that a request of the whole service reads. The handler refuses an invalid id. */
function projectSeen(terms: AuthorityTerms, { params, query }: Request): string | undefined {
  if (!('auditsReadOf' in terms)) return undefined;
  const id: unknown = { ...query, ...params }[terms.auditsReadOf];
  return typeof id === 'string' && UUID.test(id) ? id : undefined;
}

/** Throws 403 SECOND_FACTOR while the session waits for a code, or for the setup of a second factor. */
function requireStage({ stage }: SessionRow, terms: AuthorityTerms): void {
  const open = 'open' in terms ? terms.open : 'whole';
  if (open === 'any_stage' || stage === open || (stage === 'signed_in' && open !== 'second_factor')) return;
  if (stage === 'signed_in') throw new ConsoleError('FORBIDDEN', 'This session does not wait for a code.');
  const words = stage === 'enrol' ? 'Set up a second factor first.' : 'Enter the code of your second factor first.';
  throw new ConsoleError('SECOND_FACTOR', words);
}
