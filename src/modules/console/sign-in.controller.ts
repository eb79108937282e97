/** Routes for signing in and out, and for the session. */
import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import type { Request, Response } from 'express';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { invalidField } from '../../domain/errors.js';
import { Sessions, type SessionRow } from '../people/sessions.js';
import { SignIn, type Visitor } from '../people/sign-in.js';
import type { Done, SessionAnswer } from './api-shapes.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { From, Person, Session } from './caller.js';
import { sessionCookie, takeCookie } from './cookies.js';
import { ReauthenticateBody, SecondFactorBody, SignInBody } from './people.dto.js';
import { SessionAnswers } from './session-answer.js';
import { SessionStreams } from './session-streams.js';

@Controller('api')
export class SignInController {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly answers: SessionAnswers,
    private readonly streams: SessionStreams,
    private readonly config: ConsoleConfig,
  ) {}

  @Get('session')
  @Authority({ open: 'any_stage' })
  async session(@Session() session: SessionRow): Promise<SessionAnswer> {
    return this.answers.of(session);
  }

  @Get('session/stream')
  @Authority({ merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'self' })
  async stream(@Person() { sessionId }: ConsoleCaller, @Res() response: Response): Promise<void> {
    await this.streams.serve(sessionId, response);
  }

  /** Also ends the browser's previous session: a token from before the sign-in must be worthless after it. */
  @Post('sign-in')
  @HttpCode(200)
  @Authority({ open: 'anyone' })
  async begin(
    @Body() { email, password }: SignInBody,
    @From() visitor: Visitor,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionAnswer> {
    const signedIn = await this.signIn.signInWithPassword(email, password, visitor);
    await this.forget(request);
    return this.answers.give(response, signedIn);
  }

  @Post('sign-in/second-factor')
  @HttpCode(200)
  @Authority({ open: 'second_factor' })
  async secondFactor(
    @Body() body: SecondFactorBody,
    @Session() session: SessionRow,
    @From() visitor: Visitor,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionAnswer> {
    if ((body.code === undefined) === (body.recovery_code === undefined)) {
      throw invalidField('code', 'send either a code or a recovery_code, not both');
    }
    return this.answers.give(response, await this.signIn.signInWithCode(session, body, visitor));
  }

  @Post('sign-out')
  @HttpCode(200)
  @Authority({ open: 'any_stage' })
  async end(
    @Body() _: EmptyBody,
    @Session() session: SessionRow,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Done> {
    await this.sessions.end(session.id, session.person_id);
    takeCookie(response, this.config);
    return { done: true };
  }

  @Post('re-authenticate')
  @HttpCode(200)
  @Authority({ open: 'enrol' })
  async again(
    @Body() body: ReauthenticateBody,
    @Session() session: SessionRow,
    @From() visitor: Visitor,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionAnswer> {
    return this.answers.give(response, await this.signIn.confirmAgain(session, body, visitor));
  }

  private async forget(request: Request): Promise<void> {
    const token = sessionCookie(request, this.config);
    const before = token === undefined ? undefined : await this.sessions.find(token, this.config.audience);
    if (before !== undefined) await this.sessions.end(before.id, before.person_id);
  }
}
