/** Stores the caller that the guard identified on the request. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { invariant } from '../../domain/errors.js';
import type { Author } from '../../platform/database/audit-log.js';
import type { SessionRow } from '../people/sessions.js';
import type { Visitor } from '../people/sign-in.js';
import type { ConsoleCaller } from './authority.js';

/** Set by the guard on each admitted request. */
export interface Admitted {
  readonly visitor: Visitor;
  /** Undefined on a route that anyone may call. */
  readonly session: SessionRow | undefined;
  /** Undefined until the session is complete. */
  readonly caller: ConsoleCaller | undefined;
}

const ADMITTED = Symbol('console-admitted');
type WithAdmitted = Request & { [ADMITTED]?: Admitted };

export function setAdmitted(request: Request, admitted: Admitted): void {
  (request as WithAdmitted)[ADMITTED] = admitted;
}

export const admittedOf = (request: Request): Admitted | undefined => (request as WithAdmitted)[ADMITTED];

function admitted(context: ExecutionContext): Admitted {
  const found = admittedOf(context.switchToHttp().getRequest<Request>());
  invariant(found !== undefined, 'a handler runs behind the guard');
  return found;
}

/** The signed-in caller, on a route that declares roles. */
export const Person = createParamDecorator((_data: unknown, context: ExecutionContext): ConsoleCaller => {
  const { caller } = admitted(context);
  invariant(caller !== undefined, 'a route without roles has no caller');
  return caller;
});

/** The session, on a route that requires one. */
export const Session = createParamDecorator((_data: unknown, context: ExecutionContext): SessionRow => {
  const { session } = admitted(context);
  invariant(session !== undefined, 'a route for anyone has no session');
  return session;
});

/** The browser, signed in or not. */
export const From = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Visitor => admitted(context).visitor,
);

/** Returns the author for the audit log. `reason` is the person's own text, or a default. */
export const authorOf = ({ email, audience }: ConsoleCaller, reason = `in the ${audience}s’ console`): Author => ({
  actor: email,
  reason,
});
