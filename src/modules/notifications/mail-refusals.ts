/** Addresses whose readers refused further mails. */
import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { MailTokens } from './mail-tokens.js';

const REFUSE = `INSERT INTO mail_refusal (address_key) VALUES ($1) ON CONFLICT DO NOTHING`;
const IS_REFUSED = `SELECT FROM mail_refusal WHERE address_key = ANY ($1::bytea[])`;

@Injectable()
export class MailRefusals {
  constructor(
    private readonly database: Database,
    private readonly tokens: MailTokens,
  ) {}

  /** Records that this address takes no more invitations by mail. */
  async refuse(addressKey: Buffer): Promise<void> {
    await this.database.query(REFUSE, [addressKey]);
  }

  /** Returns true if the reader of this address refused further mails. */
  async isRefused(email: string): Promise<boolean> {
    return (await this.database.query(IS_REFUSED, [this.tokens.addressKeys(email)])).length > 0;
  }
}
