/** Teams as the pages see and change them: of a project, or of the operators. */
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../config/console-config.js';
import type { PersonRole } from '../domain/audience.js';
import { ConsoleError } from '../domain/console-error.js';
import { Invitations, linkOf, type ListedInvitation, type Place } from '../people/invitations.js';
import { Team } from '../people/team.js';
import { Database } from '../store/database.js';
import type { Done, InvitationItem, InvitedAnswer, LooksAnswer, TeamAnswer } from './api-shapes.js';
import type { ConsoleCaller } from './authority.js';
import { authorOf } from './caller.js';

const LOOKS = { name: 'console_looks', text: `SELECT at, actor, what FROM console_looks($1, $2)` };

@Injectable()
export class TeamAnswers {
  constructor(
    private readonly team: Team,
    private readonly invitations: Invitations,
    private readonly database: Database,
    private readonly config: ConsoleConfig,
  ) {}

  async list(place: Place, caller: ConsoleCaller): Promise<TeamAnswer> {
    const members = await this.team.members(place);
    const invitations = await this.invitations.list(place);
    return {
      members: members.map(({ last_seen_at: seen, since, ...member }) => ({
        ...member,
        since: since.toISOString(),
        ...(seen !== null && { last_seen_at: seen.toISOString() }),
        is_me: member.person_id === caller.personId,
      })),
      invitations: invitations.map(itemOf),
    };
  }

  async looks({ projectId }: Place, { sessionId }: ConsoleCaller): Promise<LooksAnswer> {
    const rows = await this.database.query<{ at: Date; actor: string; what: string | null }>(LOOKS, [
      sessionId,
      projectId,
    ]);
    return { looks: rows.map(({ at, actor, what }) => ({ at: at.toISOString(), by: actor, what: what ?? '' })) };
  }

  async invite(
    place: Place,
    who: { readonly email: string; readonly role: PersonRole },
    caller: ConsoleCaller,
  ): Promise<InvitedAnswer> {
    const consoleUrl = place.audience === 'merchant' ? this.config.merchantUrl : this.config.url;
    if (consoleUrl === undefined) {
      throw new ConsoleError('CONFLICT', 'Set CONSOLE_MERCHANT_URL first: the link leads to the merchants’ console.');
    }
    const { invitation, token } = await this.invitations.invite(place, who, authorOf(caller));
    return { invitation: itemOf(invitation), link: linkOf(consoleUrl, token) };
  }

  async revoke(place: Place, invitationId: string, caller: ConsoleCaller): Promise<Done> {
    await this.invitations.revoke(place, invitationId, authorOf(caller));
    return { done: true };
  }

  async changeRole(place: Place, personId: string, role: PersonRole, caller: ConsoleCaller): Promise<Done> {
    await this.team.changeRole(place, personId, role, authorOf(caller));
    return { done: true };
  }

  async remove(place: Place, personId: string, caller: ConsoleCaller): Promise<Done> {
    await this.team.remove(place, personId, authorOf(caller));
    return { done: true };
  }
}

const itemOf = ({ id, email, role, invited_by, expires_at }: ListedInvitation): InvitationItem => ({
  id,
  email,
  role,
  invited_by,
  expires_at: expires_at.toISOString(),
});
