// Tracks the outcome of every order through webhooks, the event log and the orders themselves.
// docs/never-miss-an-order.md explains it.
//
//   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
//   node orders.mjs follow [--once]     events from the log into INBOX; --once: up to now
//   node orders.mjs work                from INBOX, where receive.mjs writes too, into STATE/orders.json
//   node orders.mjs reconcile           every order of the service against STATE/orders.json; exit code 1 if one differed
//
// INBOX is ./inbox and STATE is ./state unless set.
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from './energy.mjs';
import { keep, replace } from './inbox.mjs';

const client = connect();
const { INBOX = './inbox', STATE = './state' } = process.env;
const WAIT_SEC = 30;
const RETRY_MS = 5000;

function read(name) {
  try {
    return readFileSync(join(STATE, name), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Stores the events after the stored position, then the new position: a repeated event is harmless, a lost one is not. */
async function readOn(waitSec) {
  const after = read('position');
  const page = await client.events.poll({ limit: 100, waitSec, after }).catch((error) => {
    if (error.code !== 'EVENTS_EXPIRED') throw error;
    console.error(`What came between ${after} and ${error.oldestPosition} is not kept any more: reconcile.`);
    return { items: [], last_position: error.oldestPosition - 1 };
  });
  for (const event of page.items) {
    if (event.type === 'log.restarted') console.error('The service was restored from a copy: reconcile.');
    console.log(keep(INBOX, event.id, JSON.stringify(event)) ? `${event.type} ${event.id}` : `again ${event.id}`);
  }
  replace(STATE, 'position', String(page.last_position));
  return String(page.last_position) !== after;
}

async function follow(option) {
  if (option === '--once') {
    while (await readOn(0));
    return;
  }
  for (;;) {
    await readOn(WAIT_SEC).catch(async (error) => {
      console.error(`${error.message}; trying again.`);
      await sleep(RETRY_MS);
    });
  }
}

/** Updates the state of each order. Events of an order may arrive out of order; the highest position wins. */
function work() {
  mkdirSync(join(INBOX, 'done'), { recursive: true });
  const names = readdirSync(INBOX).filter((name) => /^\w.*\.json$/.test(name));
  const orders = JSON.parse(read('orders.json') ?? '{}');
  for (const name of names) {
    const { position, data } = JSON.parse(readFileSync(join(INBOX, name), 'utf8'));
    const order = data?.order;
    if (order === undefined || (orders[order.key]?.position ?? 0) >= position) continue;
    orders[order.key] = { position, order };
    console.log(`${order.key} is ${order.status}`);
  }
  replace(STATE, 'orders.json', JSON.stringify(orders, null, 2));
  for (const name of names) renameSync(join(INBOX, name), join(INBOX, 'done', name));
}

/** The parts of an order that decide its outcome. */
const gist = (order) => JSON.stringify([order?.status, order?.settled, order?.reclaimed_at, order?.ended_early_by]);

async function reconcile() {
  const orders = JSON.parse(read('orders.json') ?? '{}');
  const unseen = new Set(Object.keys(orders));
  let differing = 0;
  for await (const order of client.orders.list({ limit: 100 })) {
    unseen.delete(order.key);
    const known = orders[order.key];
    if (gist(known?.order) === gist(order)) continue;
    differing += 1;
    console.log(`${order.key} was ${known?.order.status ?? 'unknown'}, is ${order.status}`);
    orders[order.key] = { position: known?.position ?? 0, order };
  }
  for (const key of unseen) console.log(`${key} is unknown to the service`);
  replace(STATE, 'orders.json', JSON.stringify(orders, null, 2));
  console.log(`${Object.keys(orders).length} orders, ${differing + unseen.size} differed`);
  process.exitCode = differing + unseen.size > 0 ? 1 : 0;
}

const commands = { follow, work, reconcile };
const [name, option] = process.argv.slice(2);
if (!Object.hasOwn(commands, name ?? '')) {
  console.error('Name one of: follow [--once], work, reconcile.');
  process.exit(2);
}
await commands[name](option);
