// A receiver of webhooks with Node 18 or newer; no packages.
//
//   export WEBHOOK_SECRET=whsec_…
//   PORT=4000 INBOX=./inbox node receive.mjs
//
// Each event becomes one file in INBOX, even if it arrives repeatedly, and is answered with 204 once it is stored.
// Another program of yours processes the files. With a database, use a row with the id as unique key.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { keep } from './inbox.mjs';

const { WEBHOOK_SECRET = '', PORT = '4000', INBOX = './inbox' } = process.env;
const TOLERANCE_SEC = 300;
const BODY_BYTES_MAX = 100_000;

if (!WEBHOOK_SECRET.startsWith('whsec_')) {
  console.error('Set WEBHOOK_SECRET to the secret of the webhook.');
  process.exit(2);
}
const key = Buffer.from(WEBHOOK_SECRET.slice('whsec_'.length), 'base64');

/** Returns true if the service sent the request: signed with our secret over these bytes within five minutes. */
function isVerified(headers, body) {
  const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': signatures = '' } = headers;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id) || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SEC) return false;
  const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  // While the secret is rotated, the header has one signature for each secret.
  return signatures.split(' ').some((each) => {
    const given = each.startsWith('v1,') ? Buffer.from(each.slice(3), 'base64') : Buffer.alloc(0);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

async function take(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return 413;
  }
  const body = Buffer.concat(chunks);
  if (request.method !== 'POST' || !isVerified(request.headers, body)) return 400;
  const id = request.headers['webhook-id'];
  console.log(keep(INBOX, id, body) ? `${JSON.parse(body).type} ${id}` : `again ${id}`);
  return 204;
}

createServer((request, response) => {
  take(request)
    .catch((error) => {
      // Not stored: the service will send it again.
      console.error(error);
      return 500;
    })
    .then((status) => response.writeHead(status, status === 413 ? { Connection: 'close' } : {}).end());
}).listen(Number(PORT), '127.0.0.1');
