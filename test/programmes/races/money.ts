// Races for a balance: the last credits, concurrent bookings of every kind, and a freeze among orders.
import { randomUUID } from 'node:crypto';
import { forEachConcurrently } from '../../../src/platform/support/concurrency.js';
import type { BillingTerms } from '../../../src/modules/billing/ledger.js';
import { credits } from '../../../src/domain/units.js';
import type { Answer, Customer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { retryWithoutConnection } from '../../support/database/pool-retry.js';
import { refundOrder } from '../../support/api/order-fixture.js';
import { recordsOf, tally, volley, type RaceCluster, type Row } from './cluster.js';

/** Later races auto-delegate the other receivers, and energy on its way to them would hide their need. */
const RECEIVERS = 10;

/** Credits for 65 000 energy for an hour at the default price and a rate of 0.30. */
const PRICE = 8_775_000n;
const order = (cluster: RaceCluster, index = 0) => ({
  receive_address: cluster.chain.receivers[index % RECEIVERS]!,
  energy: 65_000,
});

/** Sends twice as many orders as the credits cover: exactly the affordable number succeeds. */
export async function lastCredit(cluster: RaceCluster, kind: 'prepaid' | 'postpaid', parallel: number): Promise<Row> {
  const affordable = parallel / 2;
  const funds = PRICE * BigInt(affordable);
  const terms: BillingTerms = kind === 'prepaid' ? { kind } : { kind, debtLimitCredits: credits(funds) };
  const customer = await makeCustomer(cluster.services, kind === 'prepaid' ? funds : 0n, terms);
  const answers = await volley(cluster, customer, parallel, (at, index) =>
    at.post('/v1/orders', order(cluster, index), { 'Idempotency-Key': randomUUID() }),
  );
  const records = await recordsOf(cluster, customer.merchant);
  const say = (orders: number, balance: bigint, statuses: string) =>
    `${orders.toString()} orders, balance ${balance.toString()}, ${statuses}`;
  const half = affordable.toString();
  return {
    race: `money for half of them, ${kind}`,
    done: `${parallel.toString()} at once`,
    wanted: say(affordable, kind === 'prepaid' ? 0n : -funds, `${half} × 202, ${half} × 402 INSUFFICIENT_CREDITS`),
    found: say(records.orders, records.balance, tally(answers)),
  };
}

interface Player {
  readonly customer: Customer;
  expected: bigint;
  readonly open: string[];
}

/** Concurrent top-ups, charges and refunds of a few projects: every balance equals the sum of the answers. */
export async function interleaved(cluster: RaceCluster, operations: number): Promise<Row> {
  const players: Player[] = [];
  for (let index = 0; index < 4; index += 1) {
    players.push({ customer: await makeCustomer(cluster.services, PRICE * 3n), expected: PRICE * 3n, open: [] });
  }
  const done = { topUps: 0, charges: 0, refused: 0, refunds: 0, failed: 0 };
  await forEachConcurrently(
    Array.from({ length: operations }, (_, index) => index),
    32,
    async (index) => {
      const player = players[index % players.length]!;
      const choice = Math.random();
      const open = choice > 0.65 ? player.open.shift() : undefined;
      if (open !== undefined) {
        await refundOrder(cluster.services, player.customer.merchant, open);
        player.expected += PRICE;
        done.refunds += 1;
      } else if (choice < 0.25) {
        const reference = randomUUID();
        const book = async () =>
          retryWithoutConnection(async () =>
            cluster.ledger.topUp(player.customer.merchant, credits(PRICE), reference, AUTHOR),
          );
        // Booked twice concurrently, as by an impatient operator: it counts once.
        await Promise.all(choice < 0.03 ? [book(), book()] : [book()]);
        player.expected += PRICE;
        done.topUps += 1;
      } else {
        const key = randomUUID();
        const at = player.customer.at(cluster.urls[index % 2]!);
        const { status } = await at.post('/v1/orders', order(cluster, index), { 'Idempotency-Key': key });
        if (status === 202) {
          player.expected -= PRICE;
          player.open.push(key);
          done.charges += 1;
        } else if (status === 402) done.refused += 1;
        else done.failed += 1;
      }
    },
  );
  let off = 0;
  for (const player of players) {
    const records = await recordsOf(cluster, player.customer.merchant);
    if (records.balance !== player.expected || records.entries !== player.expected) off += 1;
  }
  const say = (wrong: number, failed: number) =>
    `${wrong.toString()} of ${players.length.toString()} sums off, ${failed.toString()} other failures`;
  return {
    race: 'top-ups, charges and refunds interleaved',
    done: `${operations.toString()} (${done.topUps.toString()} top-ups, ${done.charges.toString()} charges, ${done.refunds.toString()} refunds, ${done.refused.toString()} refused)`,
    wanted: say(0, 0),
    found: say(off, done.failed),
  };
}

/** A freeze among orders: after its answer nothing more is charged. */
export async function freeze(cluster: RaceCluster, rounds: number, parallel: number): Promise<Row> {
  let late = 0;
  let unexplained = 0;
  const answers: Answer[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const customer = await makeCustomer(cluster.services, PRICE * BigInt(parallel));
    let frozenAt: Promise<number> | undefined;
    const volleyed = await volley(cluster, customer, parallel, async (at, index) => {
      const answering = at.post('/v1/orders', order(cluster, index), { 'Idempotency-Key': randomUUID() });
      if (index === round % parallel) {
        frozenAt = answering.then(async () => {
          await cluster.ledger.setFrozen(customer.merchant, true, AUTHOR);
          return (await recordsOf(cluster, customer.merchant)).charges;
        });
      }
      return answering;
    });
    const atFreeze = (await frozenAt)!;
    const { charges, balance } = await recordsOf(cluster, customer.merchant);
    late += charges - atFreeze;
    const accepted = volleyed.filter((answer) => answer.status === 202).length;
    if (accepted !== charges || balance !== PRICE * BigInt(parallel - charges)) unexplained += 1;
    answers.push(...volleyed);
  }
  const odd = answers.filter(({ status }) => status !== 202 && status !== 403).length;
  const say = (afterwards: number, rest: number, other: number) =>
    `${afterwards.toString()} charged after the freeze, ${rest.toString()} rounds whose records and answers differ, ${other.toString()} other answers`;
  return {
    race: 'a freeze among orders',
    done: `${rounds.toString()} rounds × ${parallel.toString()}: ${tally(answers)}`,
    wanted: say(0, 0, 0),
    found: say(late, unexplained, odd),
  };
}
