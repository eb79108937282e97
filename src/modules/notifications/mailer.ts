/**
 * Passes mails to the operator's mail server, one connection each, within one deadline. Requires TLS with a valid
 * certificate of every server except one on this machine. Describes outcomes without addresses.
 */
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { createTransport, type NodemailerError } from 'nodemailer';
import { withDeadline } from '../../platform/support/clock.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';

const REFUSED = 'the mail server refused it';

/** Returns true if the fault is a permanent refusal. */
export const isRefusal = (fault: string | null): boolean => fault?.startsWith(`${REFUSED} (5`) === true;

const CONNECT_MS = 10_000;
const SILENCE_MS = 15_000;
/**
 * For the whole mail, from the DNS look-up to the server's answer to the last line; below the lease of a claim
 * (mail-claims.ts).
 */
const MAIL_MS = 45_000;
/** A proper mail server sends no longer answers. */
const ANSWER_BYTES_MAX = 64 * 1024;

export interface Mail {
  /** One address, in the format of invited addresses. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Without `<>`. The same for a repeated mail, so that duplicates can be recognised. */
  readonly id: string;
  /** The URL where the reader ends such mails by one POST (RFC 8058). */
  readonly endUrl: string;
}

export type MailOutcome =
  | { readonly kind: 'taken' }
  | {
      readonly kind: 'failed';
      /** True if the server may have accepted it anyway. */
      readonly isUncertain: boolean;
      /** True if the server will refuse it again (5xx). */
      readonly isFinal: boolean;
      /** For display: without an address or the server's own text. */
      readonly fault: string;
    };

@Injectable()
export class Mailer {
  constructor(private readonly config: ConsoleConfig) {}

  /** Sends one mail. Never rejects. */
  async send(mail: Mail): Promise<MailOutcome> {
    const { mail: settings } = this.config;
    if (settings === undefined) {
      return { kind: 'failed', isUncertain: false, isFinal: false, fault: 'no mail server is set up' };
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
      // Our own socket, so that the deadline can close it in any state of the server.
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
    // The message is read to its end only after the server requested it.
    let isSent = false;
    transport.use('stream', ({ message }, done) => {
      message.processFunc((input) => input.pipe(new PassThrough().once('end', () => (isSent = true))));
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
      return failureOf(error, isSent);
    } finally {
      for (const socket of sockets) socket.destroy();
      transport.close();
    }
  }
}

/** Returns the failure for an error. A mail that was sent completely but not answered has an unknown outcome. */
function failureOf(error: unknown, isSent: boolean): MailOutcome {
  const { responseCode: code } = error as NodemailerError;
  if (code === undefined) {
    const fault = 'the mail server did not accept it in time';
    return { kind: 'failed', isUncertain: isSent, isFinal: false, fault };
  }
  const fault = `${REFUSED} (${code.toString()})`;
  return { kind: 'failed', isUncertain: false, isFinal: code >= 500, fault };
}
