// Names and types of every process's metrics, checked by Prometheus's own tool.
import { spawnSync } from 'node:child_process';
import { Metrics } from '../../../src/platform/observability/metrics.js';

const isThere = spawnSync('promtool', ['--version']).status === 0;
// promtool is in Debian's package prometheus.
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
