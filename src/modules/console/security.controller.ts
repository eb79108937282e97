/** Routes for a person's own security: password, second factor, recovery codes, sessions. */
import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post, Res } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import type { Response } from 'express';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { needsSecondFactor } from '../../domain/audience.js';
import { ApiError } from '../../domain/errors.js';
import { Security } from '../people/security.js';
import { Sessions, type SessionRow } from '../people/sessions.js';
import type { Visitor } from '../people/sign-in.js';
import type { Done, RecoveryCodesAnswer, SecondFactorSecret, SecurityAnswer, SessionAnswer } from './api-shapes.js';
import { Authority, type RoleAuthority } from './authority.js';
import { From, Session } from './caller.js';
import { AddressBody, CodeBody, PasswordBody } from './people.dto.js';
import { AddressProofs } from './address-proofs.js';
import { SessionAnswers } from './session-answer.js';

const ANYBODY: RoleAuthority = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'self' };

@Controller('api/security')
export class SecurityController {
  constructor(
    private readonly security: Security,
    private readonly sessions: Sessions,
    private readonly addressProofs: AddressProofs,
    private readonly answers: SessionAnswers,
    private readonly config: ConsoleConfig,
  ) {}

  @Get()
  @Authority(ANYBODY)
  async state(@Session() session: SessionRow): Promise<SecurityAnswer> {
    const state = await this.security.state(session.person_id);
    const sessions = await this.sessions.list(session.person_id);
    return {
      email: state.email,
      password_changed_at: state.password_changed_at.toISOString(),
      second_factor: {
        is_on: state.totp_since !== null,
        is_required: session.memberships.some(({ role }) => needsSecondFactor(role)),
        ...(state.totp_since !== null && { since: state.totp_since.toISOString() }),
        recovery_codes_left: state.recovery_codes_left,
      },
      sessions: sessions.map(({ id, created_at: created, seen_at: seen, source_address, user_agent }) => ({
        id,
        is_current: id === session.id,
        signed_in_at: created.toISOString(),
        last_seen_at: seen.toISOString(),
        source_address,
        user_agent,
      })),
    };
  }

  @Post('password')
  @HttpCode(200)
  @Authority({ ...ANYBODY, again: true })
  async password(
    @Body() body: PasswordBody,
    @Session() session: SessionRow,
    @From() visitor: Visitor,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionAnswer> {
    return this.answers.give(response, { token: await this.security.changePassword(session, body, visitor) });
  }

  @Post('address/send')
  @HttpCode(200)
  @Authority(ANYBODY)
  async sendAddressProof(@Body() _: EmptyBody, @Session() session: SessionRow): Promise<Done> {
    await this.addressProofs.send(session);
    return { done: true };
  }

  @Post('address/prove')
  @HttpCode(200)
  @Authority(ANYBODY)
  async proveAddress(@Body() { token }: AddressBody, @Session() session: SessionRow): Promise<Done> {
    await this.addressProofs.prove(session, token);
    return { done: true };
  }

  @Post('second-factor/begin')
  @HttpCode(200)
  @Authority({ open: 'enrol', again: true })
  async begin(@Body() _: EmptyBody, @Session() session: SessionRow): Promise<SecondFactorSecret> {
    return this.security.beginFactor(session, `Energy ${new URL(this.config.url).host}`);
  }

  @Post('second-factor/confirm')
  @HttpCode(200)
  @Authority({ open: 'enrol', again: true })
  async confirm(
    @Body() { code }: CodeBody,
    @Session() session: SessionRow,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RecoveryCodesAnswer> {
    const { token, codes } = await this.security.confirmFactor(session, code);
    return { recovery_codes: codes, session: await this.answers.give(response, { token }) };
  }

  @Post('second-factor/remove')
  @HttpCode(200)
  @Authority({ ...ANYBODY, again: true })
  async remove(
    @Body() _: EmptyBody,
    @Session() session: SessionRow,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionAnswer> {
    return this.answers.give(response, { token: await this.security.removeFactor(session) });
  }

  @Post('recovery-codes')
  @HttpCode(200)
  @Authority({ ...ANYBODY, again: true })
  async recoveryCodes(@Body() _: EmptyBody, @Session() session: SessionRow): Promise<RecoveryCodesAnswer> {
    const codes = await this.security.newRecoveryCodes(session);
    return { recovery_codes: codes, session: await this.answers.of(session) };
  }

  @Post('sessions/end-others')
  @HttpCode(200)
  @Authority(ANYBODY)
  async endOthers(@Body() _: EmptyBody, @Session() session: SessionRow): Promise<Done> {
    await this.security.endOthers(session);
    return { done: true };
  }

  @Post('sessions/:session_id/end')
  @HttpCode(200)
  @Authority(ANYBODY)
  async end(
    @Body() _: EmptyBody,
    @Param('session_id', ParseUUIDPipe) sessionId: string,
    @Session() session: SessionRow,
  ): Promise<Done> {
    const wasThere = await this.security.endSession(session, sessionId);
    if (!wasThere) throw new ApiError('NOT_FOUND', 'This session has ended already.');
    return { done: true };
  }
}
