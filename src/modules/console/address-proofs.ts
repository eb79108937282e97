/** Proof that a person reads the mailbox of their address: a mailed link that they open while signed in. */
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { ConsoleError } from '../../domain/console-error.js';
import { ApiError } from '../../domain/errors.js';
import { AddressMails } from '../notifications/address-mails.js';
import { MailRefusals } from '../notifications/mail-refusals.js';
import { MailTokens } from '../notifications/mail-tokens.js';
import { Guesses } from '../people/guesses.js';
import { Security } from '../people/security.js';
import type { SessionRow } from '../people/sessions.js';

@Injectable()
export class AddressProofs {
  constructor(
    private readonly config: ConsoleConfig,
    private readonly mails: AddressMails,
    private readonly refusals: MailRefusals,
    private readonly tokens: MailTokens,
    private readonly guesses: Guesses,
    private readonly security: Security,
  ) {}

  /** Mails the link. Throws 409 if the mail cannot be sent, 422 without a mail server, and 429. */
  async send({ person_id: personId, email, now }: SessionRow): Promise<void> {
    if (this.config.mail === undefined) {
      throw new ConsoleError(
        'NOT_ALLOWED_HERE',
        'E-mail is not set up here, so an address cannot be confirmed. Ask the operator to set up a mail server.',
      );
    }
    if (await this.refusals.isRefused(email)) {
      throw new ConsoleError('CONFLICT', 'The owner of this address has unsubscribed from our e-mails.');
    }
    await this.guesses.countAddressMail(email, personId);
    const outcome = await this.mails.prove(email, this.tokens.proof(personId, email, now.getTime()));
    if (outcome.kind === 'failed' && !outcome.isUncertain) {
      throw new ConsoleError('CONFLICT', `The e-mail was not sent: ${outcome.fault}. Try again later.`);
    }
  }

  /** Records the proof. Throws 404 for a link that is too old or was mailed to another person. */
  async prove(session: SessionRow, token: string): Promise<void> {
    if (!this.tokens.isProof(token, session.person_id, session.email, session.now.getTime())) {
      throw new ApiError('NOT_FOUND', 'This link has expired or belongs to another person. Request a new one.');
    }
    await this.security.proveAddress(session);
  }
}
