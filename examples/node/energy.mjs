// Signed requests with Node 18 or newer; no packages.
//
//   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
//   node energy.mjs quote T… [ENERGY] [DURATION_SEC]
//   node energy.mjs order QUOTE_REF IDEMPOTENCY_KEY
//   node energy.mjs get IDEMPOTENCY_KEY
//   node energy.mjs extend ORDER SECONDS IDEMPOTENCY_KEY      ORDER: the key of the order
//   node energy.mjs balance
//   node energy.mjs call METHOD PATH [BODY]      any request; BODY as JSON
//
// Signed by HMAC; SIGNATURES=md5 signs as the first clients did.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const { BASE_URL, MERCHANT, API_KEY, SIGNATURES = 'hmac' } = process.env;

/** Keys sorted, no spaces: what is signed, and sent exactly so. The interface's bodies are flat. */
function canonical(body) {
  return JSON.stringify(Object.fromEntries(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Seconds that the service's clock is ahead of ours, once it has said so. */
let offset = 0;

/** The headers that sign one attempt: by HMAC over nine lines, each attempt with a nonce of its own. */
function sign(method, path, text, key = '') {
  if (SIGNATURES === 'md5') return { Signature: md5(Buffer.from(text).toString('base64') + API_KEY) };
  const timestamp = String(Math.floor(Date.now() / 1000) + offset);
  const nonce = randomBytes(16).toString('hex');
  const [route, ...query] = path.split('?');
  const hash = createHash('sha256').update(text).digest('hex');
  const lines = [timestamp, nonce, method, decodeURIComponent(route), query.join('?'), MERCHANT, key, hash];
  const message = ['CC-HMAC-SHA256-REQ-V1', ...lines].join('\n');
  const signature = createHmac('sha256', API_KEY).update(message).digest('hex');
  return { 'X-CC-Timestamp': timestamp, 'X-CC-Nonce': nonce, 'X-CC-Signature': `v1=${signature}` };
}

/** Over the body alone; a GET signs the empty string. */
function md5(text) {
  return createHash('md5').update(text).digest('hex');
}

/** Sends one request; after a lost answer, a 429 or a 503 it is repeated, which an Idempotency-Key makes safe. */
export async function call(method, path, body, headers = {}) {
  const text = body === undefined ? '' : canonical(body);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(BASE_URL + path, {
      method,
      headers: {
        Merchant: MERCHANT,
        ...sign(method, path, text, headers['Idempotency-Key']),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: text }),
      signal: AbortSignal.timeout(60_000),
    }).catch((error) => error);
    const isRepeatable = answer instanceof Error || answer.status === 429 || answer.status === 503;
    if (!isRepeatable || attempt === 3) {
      if (answer instanceof Error) throw answer;
      const said = await answer.json();
      if (said.error !== 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE' || attempt === 3)
        return { status: answer.status, body: said };
      offset = said.server_time - Math.floor(Date.now() / 1000);
      continue;
    }
    await sleep(1000 * Number(answer.headers?.get('Retry-After') ?? attempt));
  }
}

const commands = {
  quote: (receiver, energy, duration) =>
    call('POST', '/v1/quotes', {
      receive_address: receiver,
      ...(Number(energy ?? 0) > 0 ? { energy: Number(energy) } : {}),
      ...(duration === undefined ? {} : { duration_sec: Number(duration) }),
    }),
  order: (quoteRef, key) => call('POST', '/v1/orders', { quote_ref: quoteRef }, { 'Idempotency-Key': key }),
  extend: (order, seconds, key) =>
    call(
      'POST',
      `/v1/orders/${encodeURIComponent(order)}/extensions`,
      { duration_sec: Number(seconds) },
      { 'Idempotency-Key': key },
    ),
  get: (key) => call('GET', `/v1/orders/${encodeURIComponent(key)}`),
  balance: () => call('GET', '/v1/balance'),
  call: (method, path, text) => call(method, path, text === undefined ? undefined : JSON.parse(text)),
};

// Another program may take `call` from here.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [name, ...args] = process.argv.slice(2);
  if (!BASE_URL || !MERCHANT || !API_KEY || !Object.hasOwn(commands, name ?? '')) {
    console.error('Set BASE_URL, MERCHANT and API_KEY, and name one of: quote, order, get, extend, balance, call.');
    process.exit(2);
  }
  const { status, body } = await commands[name](...args);
  console.log(JSON.stringify(body));
  process.exit(status < 300 ? 0 : 1);
}
