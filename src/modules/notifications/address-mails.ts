/**
 * Sends mails to addresses without proof of their owner: an invitation, or the link that proves an address. They
 * contain no text from a tenant.
 */
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { Mailer, type MailOutcome } from './mailer.js';
import { MailTokens } from './mail-tokens.js';

/** Returns the URL where the reader of a mail ends such mails. */
export const endUrlOf = (consoleUrl: string, token: string): string => `${consoleUrl}/unsubscribe?t=${token}`;

@Injectable()
export class AddressMails {
  constructor(
    private readonly config: ConsoleConfig,
    private readonly mailer: Mailer,
    private readonly tokens: MailTokens,
  ) {}

  /** Mails the link of an invitation to the invited address. */
  async invite(email: string, role: string, link: string): Promise<MailOutcome> {
    const text = [
      `You are invited to the energy console at ${new URL(link).host}, as ${role}.`,
      '',
      'Open this link to see and accept the invitation. It works once, within 24 hours:',
      link,
      '',
      'If you do not expect this e-mail, ignore it. No account is created for your address without the link.',
    ];
    return this.send(email, 'You are invited to the energy console', text, link);
  }

  /** Mails a person the link that proves their own address. */
  async prove(email: string, token: string): Promise<MailOutcome> {
    const link = `${this.config.url}/address#${token}`;
    const text = [
      `Someone signed in to the energy console at ${new URL(link).host} with this address.`,
      '',
      'If it was you, open this link within 24 hours, in the browser where you are signed in:',
      link,
      '',
      'If it was not you, ignore this e-mail: the address stays unconfirmed.',
    ];
    return this.send(email, 'Confirm your address for the energy console', text, token);
  }

  private async send(email: string, subject: string, lines: readonly string[], unique: string): Promise<MailOutcome> {
    const { url } = this.config;
    const endUrl = endUrlOf(url, this.tokens.refuseMails(email));
    const id = createHash('sha256').update(unique).digest('hex').slice(0, 32);
    const text = [...lines, '', 'To unsubscribe from these e-mails:', endUrl, ''].join('\n');
    return this.mailer.send({ to: email, subject, text, id: `${id}@${new URL(url).hostname}`, endUrl });
  }
}
