/**
 * Signed links in mails. They end mails or prove an address without a row for each, under a key derived for this
 * purpose alone.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { invariant } from '../../domain/errors.js';

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 16;
const TOKEN_LENGTH_MAX = 400;
/** Validity of a link that proves an address. */
const PROOF_SEC = 24 * 3600;

/** The action of a link. `end`: ends the notifications of a membership. `refuse`: no more mails to this address. */
export type MailToken =
  { readonly act: 'end'; readonly membershipId: bigint } | { readonly act: 'refuse'; readonly addressKey: Buffer };

@Injectable()
export class MailTokens {
  /** The current key first; links under the previous one still work. */
  private readonly keys: readonly Buffer[];

  constructor({ secrets }: ConsoleConfig) {
    const held = secrets.sealKeys.get('second-factor');
    invariant(held !== undefined, 'the settings of a console hold its key');
    this.keys = [held.current, ...(held.previous === undefined ? [] : [held.previous])].map((key) =>
      Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'tron-energy-rental/mail-links/v1', KEY_BYTES)),
    );
  }

  /** Returns the token that ends the notifications of a membership. It works for as long as the membership exists. */
  endNotifications(membershipId: bigint): string {
    return this.signed(['end', membershipId.toString()]);
  }

  /** Returns the token by which the reader of a mailbox refuses further mails. */
  refuseMails(email: string): string {
    return this.signed(['refuse', this.addressKeys(email)[0]?.toString('base64url') ?? '']);
  }

  /** Returns the keys under which a refused address may be stored: by the current key, and by the one before. */
  addressKeys(email: string): readonly Buffer[] {
    return this.keys.map((key) => createHmac('sha256', key).update(`address\n${email}`).digest());
  }

  /** Returns the token that proves the address of a person, valid for a day. */
  proof(personId: string, email: string, nowMs: number): string {
    return this.signed(['proof', personId, email, (Math.floor(nowMs / 1000) + PROOF_SEC).toString()]);
  }

  /** Returns true if the token proves this address of this person at this time. */
  isProof(token: string, personId: string, email: string, nowMs: number): boolean {
    const [act, person, address, untilSec] = this.opened(token) ?? [];
    return act === 'proof' && person === personId && address === email && Number(untilSec) * 1000 > nowMs;
  }

  /** Returns the content of an unsubscribe link, or undefined if we did not sign it. */
  read(token: string): MailToken | undefined {
    const [act, value = ''] = this.opened(token) ?? [];
    if (act === 'end') return { act, membershipId: BigInt(value) };
    if (act === 'refuse') return { act, addressKey: Buffer.from(value, 'base64url') };
    return undefined;
  }

  private signed(parts: readonly string[]): string {
    const text = Buffer.from(JSON.stringify(parts)).toString('base64url');
    return `${text}.${signatureOf(this.keys[0] ?? Buffer.alloc(0), text)}`;
  }

  private opened(token: string): readonly string[] | undefined {
    const [, text = '', signature = ''] = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{22})$/.exec(token) ?? [];
    if (text === '' || token.length > TOKEN_LENGTH_MAX) return undefined;
    const isOurs = this.keys.some((key) =>
      timingSafeEqual(Buffer.from(signatureOf(key, text)), Buffer.from(signature)),
    );
    return isOurs ? (JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as string[]) : undefined;
  }
}

const signatureOf = (key: Buffer, text: string): string =>
  createHmac('sha256', key).update(text).digest().subarray(0, SIGNATURE_BYTES).toString('base64url');
