/** Routes for invited people. The token is in the body, and so in no path, log or Referer. */
import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { Guesses } from '../people/guesses.js';
import { Invitations, type OpenInvitation } from '../people/invitations.js';
import { Security } from '../people/security.js';
import type { Visitor } from '../people/sign-in.js';
import type { InvitationAnswer, SessionAnswer } from './api-shapes.js';
import { Authority } from './authority.js';
import { From } from './caller.js';
import { AcceptBody, InvitationTokenBody } from './people.dto.js';
import { SessionAnswers } from './session-answer.js';

@Controller('api/invitations')
export class InvitationsController {
  constructor(
    private readonly invitations: Invitations,
    private readonly security: Security,
    private readonly guesses: Guesses,
    private readonly answers: SessionAnswers,
    private readonly config: ConsoleConfig,
  ) {}

  @Post('read')
  @HttpCode(200)
  @Authority({ open: 'anyone' })
  async read(@Body() { token }: InvitationTokenBody, @From() visitor: Visitor): Promise<InvitationAnswer> {
    const invitation = await this.find(token, visitor);
    const { email, audience, role, project_id: id, project_name: name } = invitation;
    return {
      email,
      audience,
      role,
      ...(id !== null && { project: { id, name: name ?? '' } }),
      expires_at: invitation.expires_at.toISOString(),
      has_account: await this.security.wantsPassword(invitation),
    };
  }

  @Post('accept')
  @HttpCode(200)
  @Authority({ open: 'anyone' })
  async accept(
    @Body() { token, password }: AcceptBody,
    @From() visitor: Visitor,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionAnswer> {
    const invitation = await this.find(token, visitor);
    return this.answers.give(response, await this.security.accept(invitation, password, visitor));
  }

  private async find(token: string, { address }: Visitor): Promise<OpenInvitation> {
    const counted = await this.guesses.countInvitationGuess(address);
    const invitation = await this.invitations.read(token, this.config.audience);
    await this.guesses.returnGuess(counted);
    return invitation;
  }
}
