/** Renders and changes teams: of a project, or of the operators. */
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import type { PersonRole } from '../../domain/audience.js';
import { ConsoleError } from '../../domain/console-error.js';
import { Guesses } from '../people/guesses.js';
import { Invitations, linkOf, subjectOf, type ListedInvitation, type Place } from '../people/invitations.js';
import { AddressMails } from '../notifications/address-mails.js';
import { MailRefusals } from '../notifications/mail-refusals.js';
import { Team } from '../people/team.js';
import { Database } from '../../platform/database/database.js';
import type { Done, InvitationItem, InvitedAnswer, LooksAnswer, TeamAnswer } from './api-shapes.js';
import type { ConsoleCaller } from './authority.js';
import { authorOf } from './caller.js';

const ACCESSES = { name: 'console_looks', text: `SELECT at, actor, what FROM console_looks($1, $2)` };

@Injectable()
export class TeamAnswers {
  constructor(
    private readonly team: Team,
    private readonly invitations: Invitations,
    private readonly guesses: Guesses,
    private readonly mails: AddressMails,
    private readonly refusals: MailRefusals,
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

  async listAccesses({ projectId }: Place, { sessionId }: ConsoleCaller): Promise<LooksAnswer> {
    const rows = await this.database.query<{ at: Date; actor: string; what: string | null }>(ACCESSES, [
      sessionId,
      projectId,
    ]);
    return { looks: rows.map(({ at, actor, what }) => ({ at: at.toISOString(), by: actor, what: what ?? '' })) };
  }

  async invite(
    place: Place,
    invitee: { readonly email: string; readonly role: PersonRole },
    caller: ConsoleCaller,
  ): Promise<InvitedAnswer> {
    const consoleUrl = place.audience === 'merchant' ? this.config.merchantUrl : this.config.url;
    if (consoleUrl === undefined) {
      throw new ConsoleError(
        'CONFLICT',
        'The link needs the URL of the merchant console. Set CONSOLE_MERCHANT_URL first.',
      );
    }
    if (this.config.mail !== undefined) return this.inviteByMail(place, invitee, caller, consoleUrl);
    // A link that an owner passes on proves nothing about the address; an operator vouches for the people they invite.
    const proof = caller.audience === 'operator' ? 'operator' : 'none';
    const { invitation, token } = await this.invitations.invite(place, invitee, authorOf(caller), proof);
    return { invitation: itemOf(invitation), mailed: false, link: linkOf(consoleUrl, token) };
  }

  /** Mails the link to the invited address only, so that opening it proves access to that mailbox. */
  private async inviteByMail(
    place: Place,
    invitee: { readonly email: string; readonly role: PersonRole },
    caller: ConsoleCaller,
    consoleUrl: string,
  ): Promise<InvitedAnswer> {
    if (await this.refusals.isRefused(invitee.email)) {
      throw new ConsoleError(
        'CONFLICT',
        'The owner of this address has unsubscribed from our e-mails. Ask the operator for an invitation link.',
      );
    }
    await this.guesses.countAddressMail(invitee.email, subjectOf(place));
    const { invitation, token } = await this.invitations.invite(place, invitee, authorOf(caller), 'mail');
    const outcome = await this.mails.invite(invitee.email, invitee.role, linkOf(consoleUrl, token));
    if (outcome.kind === 'failed' && !outcome.isUncertain) {
      await this.invitations.revoke(place, invitation.id, authorOf(caller, 'the e-mail was not accepted'));
      throw new ConsoleError(
        'CONFLICT',
        `No invitation was created: ${outcome.fault}. Check the address and try again.`,
      );
    }
    return { invitation: itemOf(invitation), mailed: true };
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
