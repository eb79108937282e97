// Tests of the chaos programme that need no running service: the plan and the metrics check. `npm run chaos` plays the
// rounds; test/unit/programmes/planted.test.ts checks that planted bugs fit the source.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { lossBetween } from './failover.js';
import { MetricsWatch } from './metrics.js';
import { FAULT_NAMES, planRound } from './plan.js';
import { expectedUsable } from './usable-judge.js';

const ROUNDS = [1, 2, 3, 4];

it('a seed and a round give the same plan, another seed another one', () => {
  for (const round of ROUNDS) expect(planRound('7', round)).toEqual(planRound('7', round));
  expect(planRound('7', 1)).not.toEqual(planRound('8', 1));
});

it.each(['1', '2', 'monday'])('four rounds of any seed plan every existing fault: %s', (seed) => {
  const names = ROUNDS.flatMap((round) => planRound(seed, round).map(({ name }) => name));
  expect(new Set(names)).toEqual(new Set(FAULT_NAMES));
});

it('a failover excuses what the new server cannot know, and nothing about orders that it knows', () => {
  const tx = (txid: string, key: string, act: string, { attempt = 1, leg = `${key}1` } = {}) =>
    [txid, { txid, key, act, attempt, leg }] as const;
  const sent = [
    tx('known', 'a', 'A'),
    tx('gone', 'b', 'B'),
    tx('alike', 'a', 'B'),
    tx('second', 'a', 'C', { attempt: 2 }),
    tx('moved', 'a', 'E', { leg: 'a2' }),
  ];
  const kept = tx('kept', 'a', 'D');
  const before = {
    orders: new Set(['a', 'b']),
    legs: new Set(['a1', 'a2', 'b1']),
    sent: new Map([...sent, kept]),
  };
  const after = { orders: new Set(['a']), legs: new Set(['a1']), sent: new Map([kept]) };
  expect(lossBetween(before, after)).toEqual({
    orders: new Set(['b']),
    txids: new Set(['gone', 'alike', 'second', 'moved']),
  });
});

it('a run that reads no process lacks every metric of the table', () => {
  const { documented, seen, faults } = MetricsWatch.open().verdict(true);
  expect(documented).toBeGreaterThan(40);
  expect(seen).toBe(0);
  expect(faults.length).toBeGreaterThanOrEqual(documented);
});

it('a metric that is in no table, or differs from the table, is a fault', async () => {
  const exposed = [
    '# TYPE early_reclaims_total gauge',
    'early_reclaims_total 1',
    '# TYPE made_up_total counter',
    'made_up_total{a="b"} 3',
    '# TYPE sweep_age_seconds gauge',
    'sweep_age_seconds +Inf',
  ];
  const server = createServer((_request, response) => response.end(exposed.join('\n')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const watch = MetricsWatch.open();
    await watch.look('worker', (server.address() as AddressInfo).port);
    expect(watch.verdict(true).faults).toEqual(
      expect.arrayContaining([
        'early_reclaims_total is a gauge, not a counter',
        'early_reclaims_total is not 0 in the end',
        'made_up_total of the worker is not documented',
        'sweep_age_seconds is no number on any worker in the end',
        'http_requests_total was never seen on the api',
      ]),
    );
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

describe('the energy that the rentals of one receiver promise together', () => {
  const long = { key: 'long', energy: 60_000, deliveredAtMs: 10, endsAtMs: 1_000, takesUsage: true };
  const short = { key: 'short', energy: 70_000, deliveredAtMs: 20, endsAtMs: 100, takesUsage: true };

  it('is their sum minus what was used while they run', () => {
    expect(expectedUsable([long, short], [{ atMs: 50, energy: 64_285 }], 99)).toBe(65_715);
  });

  it('counts usage first against the rental that ends, up to what it sold', () => {
    expect(expectedUsable([long, short], [{ atMs: 50, energy: 64_285 }], 100)).toBe(60_000);
    expect(expectedUsable([long, short], [{ atMs: 50, energy: 90_000 }], 100)).toBe(40_000);
  });

  it('counts use after an end against those that go on', () => {
    expect(expectedUsable([long, short], [{ atMs: 101, energy: 10_000 }], 200)).toBe(50_000);
  });

  it('leaves usage as it is when a reclaim went without a reading', () => {
    expect(expectedUsable([long, { ...short, takesUsage: false }], [{ atMs: 50, energy: 40_000 }], 100)).toBe(20_000);
  });
});
