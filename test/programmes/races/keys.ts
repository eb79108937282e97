// Races for one key and for one quote.
import { randomUUID } from 'node:crypto';
import type { Answer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { recordsOf, tally, volley, type RaceCluster, type Row } from './cluster.js';

const PLENTY = 1_000_000_000_000n;

/** One key, equal bodies, concurrent: one order, one charge, equal answers. */
export async function sameKey(cluster: RaceCluster, rounds: number, parallel: number): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  let distinctMax = 0;
  const answers: Answer[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const body = { receive_address: cluster.chain.receivers[0]!, energy: 65_000 };
    const volleyed = await volley(cluster, customer, parallel, (at) => at.post('/v1/orders', body, headers));
    distinctMax = Math.max(distinctMax, new Set(volleyed.map((answer) => answer.text)).size);
    answers.push(...volleyed);
  }
  const records = await recordsOf(cluster, customer.merchant);
  const firsts = answers.filter((answer) => answer.headers['idempotency-replayed'] === undefined).length;
  const total = (rounds * parallel).toString();
  const say = (orders: number, charges: number, first: number, distinct: number, statuses: string) =>
    `${orders.toString()} orders, ${charges.toString()} charges, ${first.toString()} first answers, ` +
    `${distinct.toString()} body per key, ${statuses}`;
  return {
    race: 'one key, one body',
    done: `${rounds.toString()} rounds × ${parallel.toString()} at once`,
    wanted: say(rounds, rounds, rounds, 1, `${total} × 202`),
    found: say(records.orders, records.charges, firsts, distinctMax, tally(answers)),
  };
}

/** Many keys on one quote: one wins. */
export async function oneQuote(cluster: RaceCluster, rounds: number, parallel: number): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const answers: Answer[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const quote = await customer.at(cluster.urls[0]).post('/v1/quotes', {
      receive_address: cluster.chain.receivers[1]!,
      energy: 65_000,
    });
    const body = { quote_ref: (quote.body as { ref: string }).ref };
    answers.push(
      ...(await volley(cluster, customer, parallel, (at) =>
        at.post('/v1/orders', body, { 'Idempotency-Key': randomUUID() }),
      )),
    );
  }
  const records = await recordsOf(cluster, customer.merchant);
  const say = (orders: number, charges: number, statuses: string) =>
    `${orders.toString()} orders, ${charges.toString()} charges, ${statuses}`;
  const losers = (rounds * (parallel - 1)).toString();
  return {
    race: 'one quote, each its own key',
    done: `${rounds.toString()} rounds × ${parallel.toString()} at once`,
    wanted: say(rounds, rounds, `${rounds.toString()} × 202, ${losers} × 409 QUOTE_ALREADY_USED`),
    found: say(records.orders, records.charges, tally(answers)),
  };
}

/** One key, a different body in each request: one order; the rest are refused accordingly. */
export async function differentBodies(cluster: RaceCluster, rounds: number, parallel: number): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const answers: Answer[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const order = (energy: number) => ({ receive_address: cluster.chain.receivers[2]!, energy });
    answers.push(
      ...(await volley(cluster, customer, parallel, (at, index) =>
        at.post('/v1/orders', order(65_000 + index), headers),
      )),
    );
  }
  const records = await recordsOf(cluster, customer.merchant);
  const say = (orders: number, statuses: string) => `${orders.toString()} orders, ${statuses}`;
  const losers = (rounds * (parallel - 1)).toString();
  return {
    race: 'one key, every body another',
    done: `${rounds.toString()} rounds × ${parallel.toString()} at once`,
    wanted: say(rounds, `${rounds.toString()} × 202, ${losers} × 422 IDEMPOTENCY_KEY_REUSED`),
    found: say(records.orders, tally(answers)),
  };
}

/** Two bodies of one key, with the name of their difference. */
interface Difference {
  readonly name: string;
  readonly bodies: readonly [object, object];
}

/** Two amounts of energy; and two amounts of bandwidth beside the same energy. */
export const TWO_BODIES: readonly Difference[] = [
  { name: 'two bodies', bodies: [{ energy: 65_000 }, { energy: 65_001 }] },
  {
    name: 'two amounts of bandwidth',
    bodies: [
      { energy: 65_000, bandwidth: 1000 },
      { energy: 65_000, bandwidth: 2000 },
    ],
  },
];

/** One key, two alternating bodies: the winner's body is replayed, the other refused. */
export async function twoBodies(
  cluster: RaceCluster,
  rounds: number,
  parallel: number,
  { name, bodies }: Difference,
): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const answers: Answer[] = [];
  let mixed = 0;
  for (let round = 0; round < rounds; round += 1) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const volleyed = await volley(cluster, customer, parallel, (at, index) =>
      at.post(
        '/v1/orders',
        // In pairs, so that each process receives both bodies.
        { receive_address: cluster.chain.receivers[3]!, ...bodies[(index >> 1) % 2] },
        headers,
      ),
    );
    answers.push(...volleyed);
    if (new Set(volleyed.filter((answer) => answer.status < 300).map((answer) => answer.text)).size !== 1) mixed += 1;
  }
  const records = await recordsOf(cluster, customer.merchant);
  const say = (orders: number, bad: number, statuses: string) =>
    `${orders.toString()} orders, ${bad.toString()} rounds with two bodies answered, ${statuses}`;
  const half = ((rounds * parallel) / 2).toString();
  return {
    race: `one key, ${name} in turn`,
    done: `${rounds.toString()} rounds × ${parallel.toString()} at once`,
    wanted: say(rounds, 0, `${half} × 202, ${half} × 422 IDEMPOTENCY_KEY_REUSED`),
    found: say(records.orders, mixed, tally(answers)),
  };
}
