// A merchant's calls with the SDK (packages/sdk). It signs them, and retries safe ones with the same key.
//
//   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
//   node energy.mjs quote T… [ENERGY] [DURATION_SEC]
//   node energy.mjs order QUOTE_REF IDEMPOTENCY_KEY
//   node energy.mjs get IDEMPOTENCY_KEY
//   node energy.mjs extend ORDER SECONDS IDEMPOTENCY_KEY      ORDER: the key of the order
//   node energy.mjs keep T… ENERGY CREDITS                    keep an address supplied, for at most CREDITS a day
//   node energy.mjs balance
//   node energy.mjs call METHOD PATH [BODY] [IDEMPOTENCY_KEY]      any request; BODY as JSON
//
// Signed by HMAC; SIGNATURES=md5 signs like early clients.
import { pathToFileURL } from 'node:url';
import { EnergyClient, EnergyError } from '@tron-energy-rental/sdk';

const { BASE_URL, MERCHANT, API_KEY, SIGNATURES = 'hmac' } = process.env;

/** Creates the client; other programs import this. */
export const connect = () =>
  new EnergyClient({ baseUrl: BASE_URL, merchant: MERCHANT, apiKey: API_KEY, signature: SIGNATURES });

/** Returns the whole number in an argument. A typing error must not become a default: NaN is null in JSON. */
function whole(name, text) {
  if (!/^\d{1,15}$/.test(text)) {
    console.error(`${name} is no whole number: ${text}`);
    process.exit(2);
  }
  return Number(text);
}

const commands = {
  quote: (client, receiver, energy, duration) =>
    client.quotes.create({
      receive_address: receiver,
      // 0: the service chooses the size.
      energy: whole('ENERGY', energy ?? '0') || undefined,
      duration_sec: duration === undefined ? undefined : whole('DURATION_SEC', duration),
    }),
  order: (client, quoteRef, idempotencyKey) => client.orders.create({ quote_ref: quoteRef }, { idempotencyKey }),
  extend: (client, order, seconds, idempotencyKey) =>
    client.orders.extend(order, { duration_sec: whole('SECONDS', seconds) }, { idempotencyKey }),
  keep: (client, address, energy, dailyCap) =>
    client.autoDelegations.set(address, {
      keep_energy: whole('ENERGY', energy),
      daily_cap_credits: whole('CREDITS', dailyCap),
    }),
  get: (client, key) => client.orders.get(key),
  balance: (client) => client.account.balance(),
  call: async (client, method, path, text, idempotencyKey) => {
    const request = {
      ...{ method, path },
      ...(text !== undefined && { body: JSON.parse(text) }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
    return (await client.request(request)).body;
  },
};

/** Returns the printable part of an error: the service's answer, or the key to repeat with. */
const shown = ({ name, message, key, requestId, body }) => body ?? { error: name, msg: message, key, requestId };

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [name, ...args] = process.argv.slice(2);
  if (!BASE_URL || !MERCHANT || !API_KEY || !Object.hasOwn(commands, name ?? '')) {
    console.error(
      'Set BASE_URL, MERCHANT and API_KEY, and name one of: quote, order, get, extend, keep, balance, call.',
    );
    process.exit(2);
  }
  try {
    console.log(JSON.stringify(await commands[name](connect(), ...args)));
  } catch (error) {
    if (!(error instanceof EnergyError)) throw error;
    console.log(JSON.stringify(shown(error)));
    process.exitCode = 1;
  }
}
