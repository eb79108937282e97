/**
 * Hands mails to the operator's own mail server, one connection for each, all of it within a deadline. TLS and its
 * certificate are demanded of every server but one on this machine. Says what became of a mail in words without addresses.
 */
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { createTransport, type NodemailerError } from 'nodemailer';
import { withDeadline } from '../base/clock.js';
import { ConsoleConfig } from '../config/console-config.js';

const REFUSED = 'the mail server refused it';

/** Whether it is the fault of a refusal for good. */
export const isRefusal = (fault: string | null): boolean => fault?.startsWith(`${REFUSED} (5`) === true;

const CONNECT_MS = 10_000;
const SILENCE_MS = 15_000;
/** Of the whole, from the name of the server to its word on the last line; below the lease of a claim (mail-claims.ts). */
const MAIL_MS = 45_000;
/** A server of ours sends no such answers. */
const ANSWER_BYTES_MAX = 64 * 1024;

export interface Mail {
  /** One address, of the form that people are invited by. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Without `<>`: the same for the same mail, so that one that comes twice can be known. */
  readonly id: string;
  /** Where its reader ends such mails by one POST (RFC 8058). */
  readonly endUrl: string;
}

export type MailOutcome =
  | { readonly kind: 'taken' }
  | {
      readonly kind: 'failed';
      /** Whether the server may have taken it all the same. */
      readonly isHeard: boolean;
      /** Whether the server will say the same again (5xx). */
      readonly isFinal: boolean;
      /** For people: without an address or the server's own words. */
      readonly fault: string;
    };

@Injectable()
export class Mailer {
  constructor(private readonly config: ConsoleConfig) {}

  /** Never rejects. */
  async send(mail: Mail): Promise<MailOutcome> {
    const { mail: settings } = this.config;
    if (settings === undefined) {
      return { kind: 'failed', isHeard: false, isFinal: false, fault: 'no mail server is set up' };
    }
    const { server, from } = settings;
    const sockets: Socket[] = [];
    const transport = createTransport({
      host: server.host,
      port: server.port,
      secure: server.isSecure,
      requireTLS: !server.isSecure && !server.isLocal,
      ...(server.user !== undefined && { auth: { user: server.user, pass: server.password ?? '' } }),
      tls: { minVersion: 'TLSv1.2' },
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      socketCloseTimeout: 0,
      maxResponseSize: ANSWER_BYTES_MAX,
      disableFileAccess: true,
      disableUrlAccess: true,
      // A connection of our own, so that a deadline ends it whatever the server does.
      getSocket: (_options: unknown, done: (error: Error | null, socket?: { connection: Socket }) => void) => {
        const socket = connect({ host: server.host, port: server.port, timeout: CONNECT_MS });
        sockets.push(socket);
        socket.once('error', done);
        socket.once('timeout', () => socket.destroy(new Error('no connection in time')));
        socket.once('connect', () => {
          socket.off('error', done);
          socket.setTimeout(0);
          done(null, { connection: socket });
        });
      },
    });
    // Read to its end only once the server has asked for it.
    let isSaid = false;
    transport.use('stream', ({ message }, done) => {
      message.processFunc((input) => input.pipe(new PassThrough().once('end', () => (isSaid = true))));
      done();
    });
    try {
      const message = {
        from,
        to: { name: '', address: mail.to },
        subject: mail.subject,
        text: mail.text,
        messageId: `<${mail.id}>`,
        list: { unsubscribe: mail.endUrl },
        headers: { 'Auto-Submitted': 'auto-generated', 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
      };
      await withDeadline(transport.sendMail(message), MAIL_MS, 'the mail server');
      return { kind: 'taken' };
    } catch (error) {
      return failureOf(error, isSaid);
    } finally {
      for (const socket of sockets) socket.destroy();
      transport.close();
    }
  }
}

/** What a failure means: of a mail that was handed over whole and not answered nobody knows. */
function failureOf(error: unknown, isSaid: boolean): MailOutcome {
  const { responseCode: code } = error as NodemailerError;
  if (code === undefined) {
    const fault = 'the mail server did not take it in time, or not at all';
    return { kind: 'failed', isHeard: isSaid, isFinal: false, fault };
  }
  const fault = `${REFUSED} (${code.toString()})`;
  return { kind: 'failed', isHeard: false, isFinal: code >= 500, fault };
}
