// Signed requests with Node 18 or newer; no packages.
//
//   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
//   node energy.mjs quote T… [ENERGY] [DURATION_SEC]
//   node energy.mjs order QUOTE_REF IDEMPOTENCY_KEY
//   node energy.mjs get IDEMPOTENCY_KEY
//   node energy.mjs balance
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const { BASE_URL, MERCHANT, API_KEY } = process.env;

/** Keys sorted, no spaces: what is signed, and sent exactly so. The interface's bodies are flat. */
function canonical(body) {
  return JSON.stringify(Object.fromEntries(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** hex(md5(base64(body) + api_key)); a GET signs the empty string. */
function sign(text) {
  return createHash('md5')
    .update(Buffer.from(text).toString('base64') + API_KEY)
    .digest('hex');
}

/** Sends one request; after a lost answer, a 429 or a 503 it is repeated, which an Idempotency-Key makes safe. */
export async function call(method, path, body, headers = {}) {
  const text = body === undefined ? '' : canonical(body);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(BASE_URL + path, {
      method,
      headers: {
        Merchant: MERCHANT,
        Signature: sign(text),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: text }),
      signal: AbortSignal.timeout(60_000),
    }).catch((error) => error);
    const isRepeatable = answer instanceof Error || answer.status === 429 || answer.status === 503;
    if (!isRepeatable || attempt === 3) {
      if (answer instanceof Error) throw answer;
      return { status: answer.status, body: await answer.json() };
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
  get: (key) => call('GET', `/v1/orders/${encodeURIComponent(key)}`),
  balance: () => call('GET', '/v1/balance'),
};

const [name, ...args] = process.argv.slice(2);
if (!BASE_URL || !MERCHANT || !API_KEY || !Object.hasOwn(commands, name ?? '')) {
  console.error('Set BASE_URL, MERCHANT and API_KEY, and name one of: quote, order, get, balance.');
  process.exit(2);
}
const { status, body } = await commands[name](...args);
console.log(JSON.stringify(body));
process.exit(status < 300 ? 0 : 1);
