#!/usr/bin/env bash
# Guess: `sendMail` rejects when the server refuses one of the recipients.
# Seen: it resolves as long as one recipient is accepted. The refused ones are in `rejected` and `rejectedErrors` of the
# result. It rejects when all are refused.
# Why it matters: of the two operators on call one never gets the mail about the empty pool, and no log says so.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline nodemailer@10.6.1 smtp-server@3.21.6 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import nodemailer from 'nodemailer';
import { SMTPServer } from 'smtp-server';
const server = new SMTPServer({
  authOptional: true, disabledCommands: ['STARTTLS'],
  onRcptTo: ({ address }, _session, done) => done(address.startsWith('gone') ? Object.assign(new Error('no such user'), { responseCode: 550 }) : undefined),
  onData: (stream, _session, done) => stream.resume().on('end', () => done()),
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const transport = nodemailer.createTransport({ host: '127.0.0.1', port: server.server.address().port, ignoreTLS: true });
const send = (to) => transport.sendMail({ from: 'pool@example.org', to, subject: 'The pool is empty', text: 'Add stake.' })
  .then(({ accepted, rejected }) => ({ accepted, rejected }), ({ responseCode }) => `rejects with ${responseCode}`);
const seen = { 'one of two': await send('one@example.org, gone@example.org'), 'the only one': await send('gone@example.org') };
console.log('nodemailer 10.6.1, smtp-server 3.21.6', seen);
assert.deepEqual(seen, { 'one of two': { accepted: ['one@example.org'], rejected: ['gone@example.org'] }, 'the only one': 'rejects with 550' });
process.exit(0);
JS
timeout 60 node run.mjs
