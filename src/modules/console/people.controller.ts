/** Routes for the operators: list them, and invite, change, remove or sign them out. Changes require an admin. */
import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import type { Place } from '../people/invitations.js';
import { emailOf } from '../people/sign-in.js';
import { Team } from '../people/team.js';
import type { Done, InvitedAnswer, TeamAnswer as TeamShape } from './api-shapes.js';
import { Authority, type ConsoleCaller, type RoleAuthority } from './authority.js';
import { authorOf, Person } from './caller.js';
import { InviteBody, RoleBody } from './people.dto.js';
import { TeamAnswers } from './team-answers.js';

const OPERATORS: Place = { audience: 'operator', projectId: undefined };
const ADMINS: RoleAuthority = { operator: ['admin'], scope: 'service', again: true };

@Controller('api/people')
export class PeopleController {
  constructor(
    private readonly answers: TeamAnswers,
    private readonly team: Team,
  ) {}

  @Get()
  @Authority({ operator: ['admin', 'support'], scope: 'service' })
  async list(@Person() caller: ConsoleCaller): Promise<TeamShape> {
    return this.answers.list(OPERATORS, caller);
  }

  @Post('invitations')
  @HttpCode(201)
  @Authority(ADMINS)
  async invite(@Body() { email, role }: InviteBody, @Person() caller: ConsoleCaller): Promise<InvitedAnswer> {
    return this.answers.invite(OPERATORS, { email: emailOf(email), role }, caller);
  }

  @Post('invitations/:invitation_id/revoke')
  @HttpCode(200)
  @Authority(ADMINS)
  async revoke(
    @Body() _: EmptyBody,
    @Param('invitation_id', ParseUUIDPipe) invitationId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    return this.answers.revoke(OPERATORS, invitationId, caller);
  }

  @Post(':person_id/role')
  @HttpCode(200)
  @Authority(ADMINS)
  async changeRole(
    @Body() { role }: RoleBody,
    @Param('person_id', ParseUUIDPipe) personId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    return this.answers.changeRole(OPERATORS, personId, role, caller);
  }

  @Post(':person_id/remove')
  @HttpCode(200)
  @Authority(ADMINS)
  async remove(
    @Body() _: EmptyBody,
    @Param('person_id', ParseUUIDPipe) personId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    return this.answers.remove(OPERATORS, personId, caller);
  }

  @Post(':person_id/end-sessions')
  @HttpCode(200)
  @Authority(ADMINS)
  async endSessions(
    @Body() _: EmptyBody,
    @Param('person_id', ParseUUIDPipe) personId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    await this.team.endSessions(personId, authorOf(caller));
    return { done: true };
  }

  @Post(':person_id/reset-second-factor')
  @HttpCode(200)
  @Authority(ADMINS)
  async resetSecondFactor(
    @Body() _: EmptyBody,
    @Param('person_id', ParseUUIDPipe) personId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    await this.team.resetSecondFactor(personId, authorOf(caller));
    return { done: true };
  }
}
