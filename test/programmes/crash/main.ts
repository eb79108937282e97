// `npm run crash`: SIGKILL at every named point. Prints a table of hits; exit code 1 on any violation.
import { parseArgs } from 'node:util';
import { DEPOSIT_TASK } from './deposit-programme.js';
import { STATEMENT_TASK } from './statement-programme.js';
import { REFILL_TASK } from './refill-programme.js';
import { runTask } from './task-programme.js';
import { TEST_ORDER_TASK } from './test-order-programme.js';
import { crashProgramme, pointsNamed } from './programme.js';

const HELP = `npm run crash -- [--times N] [--points a.before,b.after] [--block-ms N]
                     [--verbose]

  --times N     deaths at each point (5)
  --points ...  only these
  --block-ms N  real time between blocks of deliveries, 3 s of the chain's each
                (300); more on a busy machine, where transactions expire
                before they are sent
  --verbose     also each death as it happens
`;
const FINISH_LIMIT_MS = 300_000;

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      times: { type: 'string', default: '5' },
      points: { type: 'string' },
      'block-ms': { type: 'string', default: '300' },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (!/^[1-9]\d{0,3}$/.test(values.times)) throw new Error('--times takes 1 to 9999');
  if (!/^[1-9]\d{1,3}$/.test(values['block-ms'])) throw new Error('--block-ms takes 10 to 9999');
  const times = Number(values.times);
  const asked = { named: values.points?.split(','), times, isVerbose: values.verbose };
  const areRight =
    (await runTask(DEPOSIT_TASK, asked)) &&
    (await runTask(STATEMENT_TASK, asked)) &&
    (await runTask(REFILL_TASK, asked)) &&
    (await runTask(TEST_ORDER_TASK, asked));
  if (!areRight) return 1;
  const points = pointsNamed(values.points);
  if (points.length === 0) return 0;
  const startedAt = performance.now();
  const outcome = await crashProgramme({
    points,
    times,
    blockMs: Number(values['block-ms']),
    finishLimitMs: FINISH_LIMIT_MS,
    onLine: (name, line) => {
      // Findings of the workers' own checks in mid-flight are ignored: the chain runs at several times its speed,
      // and the programme judges the records itself.
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
