/** Routes for a project's team, for its owners and for admins, and for operators' looks at the project. */
import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import { emailOf } from '../people/sign-in.js';
import type { Place } from '../people/invitations.js';
import { invariant } from '../../domain/errors.js';
import type { Done, InvitedAnswer, LooksAnswer, TeamAnswer } from './api-shapes.js';
import { Authority, type ConsoleCaller, type RoleAuthority } from './authority.js';
import { Person } from './caller.js';
import { InviteBody, RoleBody } from './people.dto.js';
import { TeamAnswers } from './team-answers.js';

const READERS: RoleAuthority = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' };
const MANAGERS: RoleAuthority = { merchant: ['owner'], operator: ['admin'], scope: 'project', again: true };

function placeOf({ projectId }: ConsoleCaller): Place {
  invariant(projectId !== undefined, 'a route of a project has one');
  return { audience: 'merchant', projectId };
}

@Controller('api/projects/:project_id')
export class TeamController {
  constructor(private readonly team: TeamAnswers) {}

  @Get('team')
  @Authority(READERS)
  async list(@Person() caller: ConsoleCaller): Promise<TeamAnswer> {
    return this.team.list(placeOf(caller), caller);
  }

  @Get('looks')
  @Authority({ merchant: ['owner'], operator: ['admin'], scope: 'project' })
  async looks(@Person() caller: ConsoleCaller): Promise<LooksAnswer> {
    return this.team.listAccesses(placeOf(caller), caller);
  }

  @Post('team/invitations')
  @HttpCode(201)
  @Authority(MANAGERS)
  async invite(@Body() { email, role }: InviteBody, @Person() caller: ConsoleCaller): Promise<InvitedAnswer> {
    return this.team.invite(placeOf(caller), { email: emailOf(email), role }, caller);
  }

  @Post('team/invitations/:invitation_id/revoke')
  @HttpCode(200)
  @Authority(MANAGERS)
  async revoke(
    @Body() _: EmptyBody,
    @Param('invitation_id', ParseUUIDPipe) invitationId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    return this.team.revoke(placeOf(caller), invitationId, caller);
  }

  @Post('team/:person_id/role')
  @HttpCode(200)
  @Authority(MANAGERS)
  async changeRole(
    @Body() { role }: RoleBody,
    @Param('person_id', ParseUUIDPipe) personId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    return this.team.changeRole(placeOf(caller), personId, role, caller);
  }

  @Post('team/:person_id/remove')
  @HttpCode(200)
  @Authority(MANAGERS)
  async remove(
    @Body() _: EmptyBody,
    @Param('person_id', ParseUUIDPipe) personId: string,
    @Person() caller: ConsoleCaller,
  ): Promise<Done> {
    return this.team.remove(placeOf(caller), personId, caller);
  }
}
