// The mail server setting, and a mail's text.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SettingsReader } from '../../../src/platform/config/settings-reader.js';
import { readMail } from '../../../src/platform/config/mail-settings.js';
import { SECRET_SETTINGS } from '../../../src/platform/config/config.js';
import { EVENT_TYPES } from '../../../src/domain/event-types.js';
import { EVENTS_OF } from '../../../src/modules/notifications/event-kinds.js';
import { lineOf, mailText, named } from '../../../src/modules/notifications/mail-text.js';
import { digestOf } from '../../../src/modules/console/mail-loop.js';
import type { InboxItem } from '../../../src/modules/console/operator-shapes.js';

function read(env: Readonly<Record<string, string>>) {
  const r = new SettingsReader(env, SECRET_SETTINGS);
  const mail = readMail(r);
  return { mail, faults: r.faults };
}

describe('SMTP_URL', () => {
  it.each([
    ['smtps://u%40x:p%2Fw@mail.example.com', 'mail.example.com', 465, true, false],
    ['smtp://mail.example.com', 'mail.example.com', 587, false, false],
    ['smtp://localhost:1025', 'localhost', 1025, false, true],
    ['smtp://127.0.0.1:1025/', '127.0.0.1', 1025, false, true],
  ])('%s is a server', (url, host, port, isSecure, isLocal) => {
    const { mail, faults } = read({ SMTP_URL: url, MAIL_FROM: 'Energy@shop.example' });
    expect(faults).toEqual([]);
    expect(mail).toMatchObject({ from: 'Energy@shop.example', server: { host, port, isSecure, isLocal } });
  });

  it('decodes user and password', () => {
    const { mail } = read({ SMTP_URL: 'smtps://u%40x:p%2Fw@mail.example.com', MAIL_FROM: 'a@b.example' });
    expect([mail?.server.user, mail?.server.password]).toEqual(['u@x', 'p/w']);
  });

  it.each([
    ['http://mail.example.com', 'a@b.example', 'SMTP_URL'],
    ['smtps://user@mail.example.com', 'a@b.example', 'SMTP_URL'],
    ['smtps://u:%zz@mail.example.com', 'a@b.example', 'SMTP_URL'],
    ['smtp://mail.example.com?tls=no', 'a@b.example', 'SMTP_URL'],
    ['smtps://mail.example.com', 'Shop <a@b.example>', 'MAIL_FROM'],
    ['smtps://mail.example.com', 'a@b.example\r\nBcc: c@d.example', 'MAIL_FROM'],
  ])('rejects %j from %j by the name of the mistake, never by its value', (url, from, name) => {
    const { mail, faults } = read({ SMTP_URL: url, MAIL_FROM: from });
    expect([mail === undefined || name === 'MAIL_FROM', faults.length]).toEqual([true, 1]);
    expect(faults[0]).toContain(name);
    expect(faults[0]).not.toContain(name === 'SMTP_URL' ? url : from);
  });

  it('is a secret that a file can hold', () => {
    const folder = mkdtempSync(join(tmpdir(), 'smtp-url-'));
    const path = join(folder, 'smtp-url');
    try {
      writeFileSync(path, 'smtps://energy:secret@mail.example.com\n', { mode: 0o600 });
      const { mail, faults } = read({ SMTP_URL_FILE: path, MAIL_FROM: 'a@b.example' });
      expect([mail?.server.password, faults]).toEqual(['secret', []]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('requires both or neither', () => {
    expect(read({})).toEqual({ mail: undefined, faults: [] });
    expect(read({ SMTP_URL: 'smtp://localhost' }).faults).toEqual([
      'MAIL_FROM is required beside SMTP_URL: whom mails are from',
    ]);
    expect(read({ MAIL_FROM: 'a@b.example' }).faults).toEqual(['SMTP_URL is required with MAIL_FROM']);
  });
});

describe('a mail', () => {
  it('has a line for every event of its kinds, and for no other', () => {
    const noted: readonly string[] = Object.values(EVENTS_OF).flat();
    for (const type of EVENT_TYPES) {
      const line = lineOf(JSON.stringify({ type, timestamp: '2026-11-25T07:30:00.000Z', data: {} }), 'P');
      expect([type, line !== undefined]).toEqual([type, noted.includes(type)]);
    }
  });

  it('names an order by its number, not by its key', () => {
    const data = { order: { id: 4711, key: 'invoice-12', error: 'x' } };
    const line = lineOf(JSON.stringify({ type: 'order.refunded', timestamp: '2026-11-25T07:30:00.000Z', data }), 'P');
    expect(line).toEqual({
      title: 'An order was refunded',
      at: '2026-11-25T07:30:00.000Z',
      says: 'Order 4711 was not delivered; its charge was returned',
      path: '/p/P/orders/4711',
    });
  });

  it('keeps names that people chose short and on one line', () => {
    expect(named('a\r\nBcc: b\u2028c\u0000\td')).toBe('a Bcc: b c d');
    expect(named('x'.repeat(200), 10)).toBe('xxxxxxxxx…');
    const { subject, text } = mailText({
      url: 'https://c.example',
      about: 'Shop\n'.repeat(80),
      subject: 'Project 1a2b3c4d',
      isTest: true,
      lines: [{ title: 'It is', at: undefined, says: 'It is “Shop”', path: undefined }],
      more: 0,
      allPath: '/a',
      allWord: 'All',
      endPath: '/e',
    });
    expect(subject).toBe('[TEST] Project 1a2b3c4d: It is');
    expect(text).toMatch(/^\[TEST\] Shop Shop[^\n]*:\n/);
  });

  it('to an operator contains the new lines of the chosen severities, whatever their present figures', () => {
    const item = (says: string, severity: InboxItem['severity'] = 'fault'): InboxItem => ({ severity, says });
    const inbox = [item('Orders are due for 65 s'), item('Nothing is sold'), item('A notice', 'notice')];
    const first = digestOf(inbox, { kinds: ['fault'], noted: [] });
    expect([first.count, first.reached.noted.length]).toEqual([2, 2]);
    const later = [item('Orders are due for 130 s'), item('Wallet T1 is paused')];
    const second = digestOf(later, { kinds: ['fault'], noted: first.reached.noted });
    expect(second.lines.map(({ says }) => says)).toEqual(['Wallet T1 is paused']);
    expect(digestOf([], { kinds: ['fault'], noted: first.reached.noted }).reached.noted).toEqual([]);
  });
});
