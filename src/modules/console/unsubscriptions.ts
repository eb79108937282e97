/**
 * Unsubscribes by the signed link in each mail: one POST without a sign-in, as mail services send it for their readers
 * (RFC 8058). The link alone decides, so the request needs no cookie and no Origin.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { messageOf } from '../../domain/errors.js';
import { receiveBytes } from '../../platform/http/body/read-body.js';
import { MailRefusals } from '../notifications/mail-refusals.js';
import { MailTokens } from '../notifications/mail-tokens.js';
import { NotificationChoices } from '../notifications/notification-choices.js';
import { Log } from '../../platform/observability/logger.js';

export const UNSUBSCRIBE_PATH = '/unsubscribe';
/** The form of RFC 8058 has 26 bytes. */
const BYTES_MAX = 1024;
const TIMEOUT_MS = 10_000;

@Injectable()
export class Unsubscriptions {
  constructor(
    private readonly tokens: MailTokens,
    private readonly choices: NotificationChoices,
    private readonly refusals: MailRefusals,
    private readonly log: Log,
  ) {}

  /** Answers 200 after unsubscribing, 404 for an invalid link, and 503 if it could not be stored. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const token = new URL(request.url ?? '/', 'http://console.invalid').searchParams.get('t') ?? '';
    const answer = (status: number, words: string): void => {
      if (response.headersSent || response.destroyed) return;
      response.statusCode = status;
      response.setHeader('Content-Type', 'text/plain; charset=utf-8');
      response.end(`${words}\n`);
    };
    receiveBytes(request, { limitBytes: BYTES_MAX, timeoutMs: TIMEOUT_MS })
      .then(() => this.end(token))
      .then(
        (isDone) =>
          answer(
            isDone ? 200 : 404,
            isDone ? 'You are unsubscribed.' : 'This link is incomplete. Open the complete link from the e-mail.',
          ),
        (error: unknown) => {
          this.log.warn({ fault: messageOf(error) }, 'failed to unsubscribe a mail reader');
          answer(503, 'Unsubscribing failed. Try again later.');
        },
      );
  }

  private async end(token: string): Promise<boolean> {
    const read = this.tokens.read(token);
    if (read === undefined) return false;
    if (read.act === 'end') await this.choices.endByMail(read.membershipId);
    else await this.refusals.refuse(read.addressKey);
    return true;
  }
}
