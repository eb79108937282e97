// Names and kinds of the metrics of every process, as Prometheus's own tool judges them.
import { spawnSync } from 'node:child_process';
import { Metrics } from '../../src/observability/metrics.js';

const isThere = spawnSync('promtool', ['--version']).status === 0;
// Debian's package prometheus has it.
const judge = isThere ? test : test.skip;

judge('promtool has nothing against what every process measures', async () => {
  const metrics = new Metrics();
  metrics.collectDefaults();
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: await metrics.registry.metrics(),
    encoding: 'utf8',
  });
  expect({ status, said: `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
});
