// `npm run chaos`: rounds of combined faults, each judged after healing; or planted bugs that the same rounds must
// catch. Exit code 1 after a violation, a fault that never fired, or an uncaught bug.
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ChaosCluster } from './cluster.js';
import { faultNamed, planRound, type FaultName, type PlannedFault } from './plan.js';
import { huntAll } from './hunt.js';
import { MetricsWatch, type MetricsVerdict } from './metrics.js';
import { playRound, type RoundOutcome } from './round.js';
import { copyOfBuild, logFor, type RoundLog, type Settings } from './workspace.js';

const HELP = `npm run chaos -- [--rounds N] [--seed S] [--from R] [--keep-logs]
npm run chaos -- --planted [--count N] [--only a,b] [--from K]

  --rounds N       rounds to play (4); for planted bugs, the most for each (3)
  --seed S         chooses what goes wrong, when, and where (1)
  --from R         begins with round R of this seed, or the R-th planted bug
  --planted        plants one bug after the other in a copy of the build and
                   shows that the rounds, or the test that is named for it,
                   catch it; kept in test/programmes/chaos/planted-results.json
  --count N        so many planted bugs from there on
  --only a,b       only these planted bugs (no space after the comma);
                   'nothing planted': the build as is
  --faults a,b     these faults alone, all along, instead of the plan
  --at-once N      so many hunts at one time (1)
  --length-sec N   how long things go wrong in a round (14)
  --block-ms N     real time between blocks, 3 s of the chain's each (200)
  --keep-logs      keeps the log of every round, not only of failing ones
  --records FILE   writes the records of the last round to FILE, for the tests
                   of migrations
`;

/** Additional rounds for faults that have had no effect. */
const ENCORES_MAX = 2;
/** Failed rounds repeated at the end of the output. */
const REPEATED = 4;
/** Time after healing within which every order must be finished. */
const HEAL_LIMIT_MS = 300_000;

function wholeFrom(name: string, text: string, max: number): number {
  if (!/^[1-9]\d{0,5}$/.test(text) || Number(text) > max) throw new Error(`--${name} takes 1 to ${max.toString()}`);
  return Number(text);
}

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
      planted: { type: 'boolean', default: false },
      only: { type: 'string' },
      faults: { type: 'string' },
      count: { type: 'string', default: '1000' },
      'at-once': { type: 'string', default: '1' },
      'length-sec': { type: 'string', default: '14' },
      'block-ms': { type: 'string', default: '200' },
      'keep-logs': { type: 'boolean', default: false },
      records: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const settings: Settings = {
    rounds: wholeFrom('rounds', values.rounds ?? (values.planted ? '3' : '4'), 100_000),
    from: wholeFrom('from', values.from, 100_000),
    seed: values.seed,
    lengthMs: wholeFrom('length-sec', values['length-sec'], 600) * 1000,
    blockMs: wholeFrom('block-ms', values['block-ms'], 3000),
    keepLogs: values['keep-logs'],
    atOnce: wholeFrom('at-once', values['at-once'], 16),
  };
  const { records } = values;
  if (!values.planted) return run(settings, { alone: values.faults?.split(','), records });
  const count = wholeFrom('count', values.count, 1000);
  return huntAll(settings, { only: values.only?.split(/,(?! )/), from: settings.from, count });
}

/** `alone`: only these faults. `records`: the file for the records of the last round. */
interface RunOptions {
  readonly alone?: readonly string[] | undefined;
  readonly records?: string | undefined;
}

async function run(settings: Settings, { alone, records }: RunOptions): Promise<number> {
  const only = alone?.map(faultNamed);
  const startedAt = performance.now();
  const build = await copyOfBuild();
  const metrics = MetricsWatch.open();
  let log: RoundLog | undefined;
  const write = (who: string, line: string): void => log?.write(who, line);
  const totals: Totals = {
    planned: new Map(),
    fired: new Map(),
    byKind: new Map(),
    answers: new Map(),
    failed: [],
    comparisons: [],
  };
  let played = 0;
  try {
    let cluster: ChaosCluster | undefined;
    try {
      for (const { round, plan } of programme(settings, totals, only)) {
        log = await logFor(`round-${settings.seed}-${round.toString()}`);
        cluster ??= await ChaosCluster.open({ build: build.root, blockMs: settings.blockMs, log: write });
        played += 1;
        for (const { name } of plan) add(totals.planned, name, 1);
        const beganAt = performance.now();
        const name = `s${settings.seed}r${round.toString()}`;
        const { lengthMs } = settings;
        const outcome = await playRound(cluster, {
          name,
          plan,
          lengthMs,
          healLimitMs: HEAL_LIMIT_MS,
          metrics,
          hasOverlaps: true,
          log: write,
        }).catch(unplayed);
        printRound(round, outcome, performance.now() - beganAt);
        count(totals, round, outcome);
        for (const violation of outcome.violations) write('VIOLATION', violation);
        const hasFailed = outcome.violations.length > 0;
        // Wrong records stay wrong, and the service stops selling when it detects them: the next round needs a new
        // environment.
        if (hasFailed) {
          await cluster.close();
          cluster = undefined;
          metrics.forgetProcesses();
        }
        await log.close();
        if (hasFailed) console.log(`  the log: ${log.path}`);
        else if (!settings.keepLogs) await rm(log.path, { force: true });
        log = undefined;
      }
      if (records !== undefined) await cluster?.saveRecords(records);
    } finally {
      await cluster?.close();
    }
  } finally {
    await build.remove();
  }
  const quiet = writeTotals(totals);
  // A wallet owner's undelegation ends a rental early.
  const excused = (totals.fired.get('an owner’s hand') ?? 0) > 0 ? ['early_reclaims_total'] : [];
  const unseen = writeMetrics(metrics.verdict(totals.failed.length === 0, new Set(excused)));
  const compared = writeComparisons(totals.comparisons);
  const tookSec = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${played.toString()} rounds in ${tookSec} s, ${totals.failed.length.toString()} with violations`);
  // Repeated at the end, where a truncated output still shows them.
  for (const { round, violations } of totals.failed.slice(0, REPEATED)) {
    console.log(`round ${round.toString()}: ${violations[0]?.slice(0, 300) ?? ''}`);
  }
  return totals.failed.length === 0 && quiet === 0 && unseen === 0 && compared ? 0 : 1;
}

interface Planned {
  readonly round: number;
  readonly plan: readonly PlannedFault[];
}

/** Yields the requested rounds, then a few with only the faults that never fired, for the whole round. */
function* programme(
  { seed, from, rounds }: Settings,
  totals: Totals,
  only: readonly FaultName[] | undefined,
): Generator<Planned> {
  const end = from + rounds;
  for (let round = from; round < end; round += 1) {
    yield { round, plan: planRound(seed, round, only, only !== undefined) };
  }
  for (let round = end; round < end + ENCORES_MAX; round += 1) {
    const silent = silentOf(totals);
    if (silent.length === 0) return;
    console.log(`never fired yet: ${silent.join(', ')}; once more, alone`);
    yield { round, plan: planRound(seed, round, silent, true) };
  }
}

/** Returns the planned faults without effect so far. */
function silentOf(totals: Totals): FaultName[] {
  return [...totals.planned.keys()].filter((name) => (totals.fired.get(name) ?? 0) === 0);
}

/** A round that broke down counts as failed; the next one may still find something. */
function unplayed(error: unknown): RoundOutcome {
  const violations = [`the round could not be played: ${String(error)}`];
  return { violations, fired: new Map(), byKind: new Map(), orders: {}, answers: new Map(), healedMs: 0 };
}

interface Totals {
  readonly planned: Map<FaultName, number>;
  readonly fired: Map<FaultName, number>;
  readonly byKind: Map<string, number>;
  readonly answers: Map<string, number>;
  readonly failed: { readonly round: number; readonly violations: readonly string[] }[];
  /** Comparisons of usable energy, for each round that judged it. */
  readonly comparisons: number[];
}

function add<K>(map: Map<K, number>, key: K, count: number): void {
  map.set(key, (map.get(key) ?? 0) + count);
}

function count(totals: Totals, round: number, outcome: RoundOutcome): void {
  for (const [name, times] of outcome.fired) add(totals.fired, name, times);
  for (const [name, times] of outcome.byKind) add(totals.byKind, name, times);
  for (const [name, times] of outcome.answers) add(totals.answers, name, times);
  const { violations, comparisons } = outcome;
  if (comparisons !== undefined) totals.comparisons.push(comparisons);
  if (violations.length > 0) totals.failed.push({ round, violations });
}

function printRound(round: number, outcome: RoundOutcome, tookMs: number): void {
  const orders = Object.entries(outcome.orders).map(([name, n]) => `${n.toString()} ${name}`);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  console.log(
    `round ${round.toString().padStart(3)}  ${seconds(tookMs)}, over ${seconds(outcome.healedMs)} after healing; ${orders.join(', ')}`,
  );
  console.log(`  ${[...outcome.fired].map(([name, times]) => `${name} ×${times.toString()}`).join('; ')}`);
  for (const violation of outcome.violations) console.log(`  VIOLATION ${violation.slice(0, 3000)}`);
}

/** Prints the fired faults and returns the number of planned faults that never fired. */
function writeTotals(totals: Totals): number {
  console.log('\nfault                            planned    fired');
  for (const [name, planned] of [...totals.planned].sort()) {
    const fired = totals.fired.get(name) ?? 0;
    const line = `${name.padEnd(32)} ${planned.toString().padStart(7)} ${fired.toString().padStart(8)}`;
    console.log(fired === 0 ? `${line}  NEVER FIRED` : line);
  }
  console.log('\nof a node                                  fired');
  for (const [name, fired] of [...totals.byKind].sort())
    console.log(`${name.padEnd(40)} ${fired.toString().padStart(8)}`);
  console.log('\nanswer to a purchase                       count');
  for (const [name, n] of [...totals.answers].sort()) console.log(`${name.padEnd(40)} ${n.toString().padStart(8)}`);
  return silentOf(totals).length;
}

/** Prints the number of comparisons of usable energy. Returns false if it was to be judged but never compared. */
function writeComparisons(comparisons: readonly number[]): boolean {
  const total = comparisons.reduce((sum, count) => sum + count, 0);
  const rounds = comparisons.filter((count) => count > 0).length;
  console.log(`\nusable energy was compared ${total.toString()} times in ${rounds.toString()} rounds`);
  if (total > 0 || comparisons.length === 0) return true;
  console.log('USABLE ENERGY was never compared: the run proves nothing about it');
  return false;
}

/** Prints the observed metrics of the table and returns the number of problems. */
function writeMetrics({ documented, seen, faults, silent }: MetricsVerdict): number {
  console.log(`\nmetrics of docs/metrics.md seen with values: ${seen.toString()} of ${documented.toString()}`);
  if (silent.length > 0) console.log(`there, without a value yet: ${silent.join(', ')}`);
  for (const fault of faults) console.log(`METRIC ${fault}`);
  return faults.length;
}
