// An SMTP server for tests that accepts, refuses, hangs or breaks the connection on demand.
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface TakenMail {
  readonly to: readonly string[];
  /** Headers and body as received, with the body decoded. */
  readonly raw: string;
  /** Unfolded: one header per line. */
  readonly headers: string;
  readonly subject: string;
  readonly id: string;
  readonly text: string;
}

/** `dies` takes a mail and breaks the connection instead of confirming it. `silent` stops answering. */
export type Mood = 'takes' | 'refuses' | 'busy' | 'dies' | 'silent';

export interface MailServer {
  readonly port: number;
  /** Without TLS, on this machine. */
  readonly url: string;
  readonly mails: TakenMail[];
  /** Number of recipients named so far. */
  readonly asked: () => number;
  mood: Mood;
  readonly close: () => Promise<void>;
}

const answer = (responseCode: number, words: string): Error => Object.assign(new Error(words), { responseCode });

export async function openMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const mails: TakenMail[] = [];
  let asked = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    closeTimeout: 100,
    ...options,
    onRcptTo: (_address, _session, done) => {
      asked += 1;
      if (state.mood === 'refuses') done(answer(550, 'secret-mailbox@example.net does not exist'));
      else if (state.mood === 'busy') done(answer(451, 'later'));
      else done();
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (state.mood === 'silent') return;
        mails.push(mailOf(Buffer.concat(chunks).toString('utf8'), session.envelope.rcptTo));
        if (state.mood === 'dies') for (const connection of server.connections) connection.close();
        else done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as { port: number };
  const state: MailServer = {
    port,
    url: `smtp://127.0.0.1:${port.toString()}`,
    mails,
    asked: () => asked,
    mood: 'takes',
    close: async () => {
      for (const connection of server.connections) connection.close();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return state;
}

function mailOf(raw: string, to: false | readonly { readonly address: string }[]): TakenMail {
  const [head = '', ...body] = raw.split('\r\n\r\n');
  const headers = head.replaceAll(/\r\n[ \t]+/g, ' ');
  const header = (name: string): string => new RegExp(`^${name}: (.*)$`, 'im').exec(headers)?.[1] ?? '';
  const text = body.join('\r\n\r\n');
  return {
    to: (to === false ? [] : to).map(({ address }) => address),
    raw,
    headers,
    subject: wordsOf(header('Subject')),
    id: header('Message-ID'),
    text: /quoted-printable/i.test(header('Content-Transfer-Encoding')) ? unquoted(text) : text,
  };
}

/** Decodes quoted-printable UTF-8. */
function unquoted(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Decodes the encoded words of a header (RFC 2047). */
function wordsOf(header: string): string {
  return header
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?([QB])\?(.*?)\?=/gi, (_, way: string, word: string) =>
      way.toUpperCase() === 'B' ? Buffer.from(word, 'base64').toString('utf8') : unquoted(word.replaceAll('_', ' ')),
    );
}
