/** Renders a session for the pages. */
import { Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import type { OperatorRole, ProjectRole } from '../../domain/audience.js';
import { InvariantError } from '../../domain/errors.js';
import { idleUntil, Sessions, type SessionRow } from '../people/sessions.js';
import type { SignedIn } from '../people/sign-in.js';
import { Database } from '../../platform/database/database.js';
import type { ProjectMembership, ServiceFacts, SessionAnswer } from './api-shapes.js';
import { giveCookies } from './cookies.js';

const PROJECTS = {
  name: 'console_memberships',
  text: `SELECT id, name, role, frozen, test FROM console_memberships($1)`,
};

interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly role: ProjectRole;
  readonly frozen: boolean;
  readonly test: boolean;
}

@Injectable()
export class SessionAnswers {
  constructor(
    private readonly sessions: Sessions,
    private readonly database: Database,
    private readonly config: ConsoleConfig,
  ) {}

  async of(session: SessionRow): Promise<SessionAnswer> {
    const { stage, audience, person_id: id, email, memberships, now, fresh_until: freshUntil } = session;
    const isWhole = stage === 'signed_in';
    const operator = memberships.find(({ project_id: projectId }) => projectId === null);
    return {
      stage,
      audience,
      person: { id, email },
      ...(isWhole && operator !== undefined && { operator_role: operator.role as OperatorRole }),
      ...(isWhole && audience === 'merchant' && { projects: await this.projectsOf(id), service: this.service() }),
      idle_until: idleUntil(session).toISOString(),
      expires_at: session.expires_at.toISOString(),
      ...(isWhole && freshUntil > now && { reauthenticated_until: freshUntil.toISOString() }),
      now: now.toISOString(),
    };
  }

  /** Sets the cookies and returns the session's present state. */
  async give(response: ServerResponse, signedIn: SignedIn): Promise<SessionAnswer> {
    const session = await this.sessions.find(signedIn.token, this.config.audience);
    if (session === undefined) throw new InvariantError('a token that was just given is of a living session');
    giveCookies(response, this.config, signedIn);
    return this.of(session);
  }

  private service(): ServiceFacts {
    const { apiUrl, contact } = this.config;
    return { ...(apiUrl !== undefined && { api_url: apiUrl }), ...(contact !== undefined && { contact }) };
  }

  private async projectsOf(personId: string): Promise<ProjectMembership[]> {
    const rows = await this.database.query<ProjectRow>(PROJECTS, [personId]);
    return rows.map(({ id, name, role, frozen, test }) => ({
      ...{ id, name, role },
      ...(test && { test }),
      ...(frozen && { frozen }),
    }));
  }
}
