// `npm run bench`: what the service is for, each figure beside its limit in the same run. Nothing here asserts a time.
//   --quick   fewer and shorter rounds        --million  a worker and orders at 1 000 000 orders in the tables too
//   --soak    ten minutes of the whole machine (--minutes N, --rate N)      --only REGEX  rows whose part matches
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { randomBytes } from 'node:crypto';
import type { Row } from './measure.js';
import { figure } from './measure.js';
import { millionRows } from './million.js';
import { followRows } from './rows-follow.js';
import { HttpRows, type Pace } from './rows-http.js';
import { fairnessRows } from './rows-fairness.js';
import { delegationsPerSec, latencies } from './rows-worker.js';
import { COLLECTING, RENTAL_SEC, soak } from './soak.js';
import { Stage } from './stage.js';
import { addressFromBytes } from '../src/chain/address.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    million: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '110' },
    only: { type: 'string', default: '' },
  },
});
const pace: Pace = options.quick ? { rounds: 2, seconds: 2 } : { rounds: 5, seconds: 4 };
const only = new RegExp(options.only);
const rows: Row[] = [];

function add(...more: Row[]): void {
  rows.push(...more);
  for (const row of more) console.error(`  ${line(row).join('  ')}`);
}

function round(value: number): string {
  return value >= 100 ? Math.round(value).toString() : value.toFixed(value >= 10 ? 1 : 2);
}

function line(row: Row): string[] {
  const [low, high] = row.spread;
  return [
    row.what,
    `${round(row.ours)} ${row.unit}`,
    row.limit === undefined ? '–' : `${round(row.limit)} ${row.unit}`,
    row.ratio === undefined ? '–' : row.ratio.toFixed(2),
    `${round(low)}–${round(high)}`,
    row.p50Ms === undefined
      ? '–'
      : `${round(row.p50Ms)} / ${round(row.p99Ms ?? Number.NaN)} ms${Number.isFinite(row.limitP99Ms) ? ` (${round(row.limitP99Ms ?? 0)})` : ''}`,
    row.goal,
    row.against + (row.note === undefined || row.note === '' ? '' : ` (${row.note})`),
  ];
}

function table(): string {
  const head = ['what', 'ours', 'limit', 'ratio', 'spread', 'p50 / p99 (limit’s p99)', 'goal', 'against'];
  return [head, head.map(() => '---'), ...rows.map(line)].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

async function withStage(
  name: string,
  open: Parameters<typeof Stage.open>[0],
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  console.error(`\n${name}`);
  const stage = await Stage.open(open);
  try {
    await work(stage);
  } finally {
    await stage.close();
  }
}

async function httpRows(stage: Stage): Promise<void> {
  const http = await HttpRows.open(stage, pace);
  add(...(await http.quotes()));
  const strangers = Array.from({ length: options.quick ? 6000 : 30_000 }, () =>
    addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(20)])),
  );
  add(await http.uncachedQuotes(strangers));
  add(...(await http.reads()));
  add(...(await http.orders()));
  add(...(await http.limitOfOrders()));
}

async function startUps(stage: Stage): Promise<void> {
  const times: Record<'API' | 'worker', number[]> = { API: [], worker: [] };
  for (let index = 0; index < (options.quick ? 1 : 4); index += 1) {
    const api = performance.now();
    const started = await stage.world.startApi(0, { LOG_LEVEL: 'info' });
    times.API.push(performance.now() - api);
    await started.process.stop();
    const worker = performance.now();
    const process = await stage.world.startWorker({ LOG_LEVEL: 'info' });
    times.worker.push(performance.now() - worker);
    await process.stop();
  }
  for (const [name, values] of Object.entries(times))
    add(figure(`start-up of the ${name}`, '–', 'ms', 'report', values));
}

const startedAt = performance.now();
if (options.soak) {
  await withStage(
    'soak',
    { blockMs: 3000, solidLag: 19, env: { ...COLLECTING, DURATION_MIN_SEC: RENTAL_SEC.toString() } },
    async (stage) => {
      add(...(await soak(stage, Number(options.rate), Number(options.minutes))));
      // Throws unless the books are true.
      const verified = await stage.world.cli('verify', '--full');
      console.error(`verify: ${JSON.stringify(verified).slice(0, 200)}`);
    },
  );
} else {
  if (only.test('http')) await withStage('requests', { blockMs: 1000, solidLag: 4 }, httpRows);
  if (only.test('fairness')) {
    await withStage('fairness', { blockMs: 1000, solidLag: 4 }, async (stage) => {
      add(...(await fairnessRows(stage, pace)));
    });
  }
  if (options.million) {
    console.error('\na million orders');
    add(...(await millionRows({ blockMs: 1000, solidLag: 4 }, pace, options.only === 'history')));
  }
  if (only.test('worker')) {
    await withStage('worker', { blockMs: 1000, solidLag: 3 }, async (stage) => {
      const orders = options.quick ? 400 : 4000;
      add(await delegationsPerSec(stage, options.quick ? 2 : 3, orders));
      await startUps(stage);
    });
  }
  if (only.test('follow')) {
    console.error('\nfull blocks');
    add(...(await followRows(options.quick ? 30 : 90)));
  }
  if (only.test('latency')) {
    await withStage('latency', { blockMs: 3000, solidLag: 3 }, async (stage) => {
      await stage.world.startWorker({ LOG_LEVEL: 'info' });
      add(...(await latencies(stage, options.quick ? 5 : 40)));
    });
  }
}

const text = table();
console.log(`\n${text}\n`);
console.log(
  `${cpus().length.toString()} cores, Node ${process.version}, ${Math.round((performance.now() - startedAt) / 1000).toString()} s`,
);
await writeFile(
  new URL('latest.json', import.meta.url),
  `${JSON.stringify({ node: process.version, cores: cpus().length, options, rows }, null, 2)}\n`,
);
process.exit(0);
