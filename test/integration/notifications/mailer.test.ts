// The mailer's demands on a mail server, and its handling of one that refuses, misreports its features or hangs.
import { Mailer, type Mail } from '../../../src/modules/notifications/mailer.js';
import type { MailServer as Server } from '../../../src/platform/config/mail-settings.js';
import type { ConsoleConfig } from '../../../src/platform/config/console-config.js';
import { newAuthority } from '../../support/certificates.js';
import { openMailServer, type MailServer } from '../../support/console/mail-server.js';

const MAIL: Mail = {
  to: 'mira@acme.example',
  subject: 'Grüße',
  text: 'Größe: 1\n.\nEnd\n',
  id: 'a1b2@console.example',
  endUrl: 'https://console.example/p/1/settings/notifications',
};
const PASSWORD = 'p@ss:word/with%signs';
const LIMIT_MS = 90_000;

const open: MailServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serving(options: Parameters<typeof openMailServer>[0] = {}): Promise<MailServer> {
  const server = await openMailServer(options);
  open.push(server);
  return server;
}

function mailerTo(port: number, more: Partial<Server> = {}): Mailer {
  const server = {
    host: 'localhost',
    port,
    isSecure: false,
    isLocal: true,
    user: undefined,
    password: undefined,
    ...more,
  };
  return new Mailer({ mail: { server, from: 'energy@shop.example' } } as unknown as ConsoleConfig);
}

it('hands over a whole mail under its id, with an end mark and no other recipient', async () => {
  const server = await serving();
  expect(await mailerTo(server.port).send(MAIL)).toEqual({ kind: 'taken' });
  const [mail] = server.mails;
  expect(mail).toMatchObject({ to: ['mira@acme.example'], subject: 'Grüße', id: '<a1b2@console.example>' });
  expect(mail!.text.replaceAll('\r\n', '\n')).toContain('Größe: 1\n.\nEnd');
  expect(mail!.raw).toContain('From: energy@shop.example');
  expect(mail!.raw).toContain('Auto-Submitted: auto-generated');
});

it('authenticates if the server asks, and reveals nothing of it in a failure', async () => {
  const seen: unknown[] = [];
  const server = await serving({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) => {
      seen.push(username, password);
      if (password === PASSWORD) done(null, { user: 'energy' });
      else done(Object.assign(new Error('no'), { responseCode: 535 }));
    },
  });
  const good = await mailerTo(server.port, { user: 'energy', password: PASSWORD }).send(MAIL);
  expect([good, seen]).toEqual([{ kind: 'taken' }, ['energy', PASSWORD]]);
  const bad = await mailerTo(server.port, { user: 'energy', password: 'guess' }).send(MAIL);
  expect(bad).toEqual({ kind: 'failed', isUncertain: false, isFinal: true, fault: 'the mail server refused it (535)' });
});

it('refuses a server whose certificate no authority confirms', async () => {
  const { key, cert } = newAuthority().issue(['localhost']);
  const server = await serving({ secure: true, key, cert });
  expect(await mailerTo(server.port, { isSecure: true }).send(MAIL)).toMatchObject({
    kind: 'failed',
    isUncertain: false,
  });
  expect([server.asked(), server.mails.length]).toEqual([0, 0]);
});

it('uses no TLS only for a server of this machine', async () => {
  const server = await serving();
  const outcome = await mailerTo(server.port, { isLocal: false, user: 'energy', password: PASSWORD }).send(MAIL);
  expect(outcome).toMatchObject({ kind: 'failed', isUncertain: false });
  expect([server.asked(), server.mails.length]).toEqual([0, 0]);
});

it('distinguishes a permanent refusal, a temporary one, and an unheard mail', async () => {
  const server = await serving();
  server.mood = 'refuses';
  const refused = { kind: 'failed', isUncertain: false, fault: 'the mail server refused it (550)' };
  expect(await mailerTo(server.port).send(MAIL)).toEqual({ ...refused, isFinal: true });
  server.mood = 'busy';
  const busy = { ...refused, fault: 'the mail server refused it (451)' };
  expect(await mailerTo(server.port).send(MAIL)).toEqual({ ...busy, isFinal: false });
});

it.each(['dies', 'silent'] as const)(
  'calls the outcome uncertain if the server %s after receiving all of it, and waits no longer than its deadline',
  async (mood) => {
    const server = await serving();
    server.mood = mood;
    const outcome = await mailerTo(server.port).send(MAIL);
    expect(outcome).toMatchObject({ kind: 'failed', isUncertain: true, isFinal: false });
  },
  LIMIT_MS,
);

it('fails if nothing listens', async () => {
  const { port, close } = await openMailServer();
  await close();
  const outcome = await mailerTo(port).send(MAIL);
  expect(outcome).toMatchObject({ kind: 'failed', isUncertain: false, isFinal: false });
});
