// `npm run crash`: kill -9 at every named point, a table of how often each was hit, exit code 1 on any violation.
import { parseArgs } from 'node:util';
import { depositPointsNamed, runDepositProgramme } from './deposit-programme.js';
import { runStatementProgramme, statementPointsNamed } from './statement-programme.js';
import { crashProgramme, pointsNamed } from './programme.js';

const HELP = `npm run crash -- [--times N] [--points a.before,b.after] [--verbose]

  --times N     deaths at each point (5)
  --points ...  only these
  --verbose     also each death as it happens
`;
const FINISH_LIMIT_MS = 300_000;

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      times: { type: 'string', default: '5' },
      points: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (!/^[1-9]\d{0,3}$/.test(values.times)) throw new Error('--times takes 1 to 9999');
  const depositPoints = depositPointsNamed(values.points);
  if (depositPoints.length > 0) {
    const isRight = await runDepositProgramme({ points: depositPoints, times: Number(values.times) }, values.verbose);
    if (!isRight) return 1;
  }
  const statementPoints = statementPointsNamed(values.points);
  if (statementPoints.length > 0) {
    const isRight = await runStatementProgramme(
      { points: statementPoints, times: Number(values.times) },
      values.verbose,
    );
    if (!isRight) return 1;
  }
  const points = pointsNamed(values.points);
  if (points.length === 0) return 0;
  const startedAt = performance.now();
  const outcome = await crashProgramme({
    points,
    times: Number(values.times),
    finishLimitMs: FINISH_LIMIT_MS,
    onLine: (name, line) => {
      // What the workers' own look at the records finds in mid-flight, on a chain twenty times too fast, is judged here.
      if (/"level":"(error|fatal)"/.test(line) && !line.includes('"rule":'))
        console.log(`${name}: ${line.slice(0, 2000)}`);
    },
    onDeath: (point, n, death) => {
      if (values.verbose)
        console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s  ${point}:${n}  ${death}`);
    },
  });
  console.log('\npoint                      deaths');
  for (const point of points) console.log(`${point.padEnd(24)} ${String(outcome.hits.get(point) ?? 0).padStart(8)}`);
  console.table(outcome.orders);
  for (const violation of outcome.violations) console.log(`VIOLATION ${violation}`);
  const deaths = [...outcome.hits.values()].reduce((sum, count) => sum + count, 0);
  const tookSec = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${deaths} deaths at ${points.length} points in ${tookSec} s, ${outcome.violations.length} violations`);
  return outcome.violations.length === 0 ? 0 : 1;
}
