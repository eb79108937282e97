// The consumption of a service that sells nothing: the CPU of its processes and of Postgres, and statements by step.
import { openBuild } from '../upgrade/earlier-build.js';
import { spentRow, type Spent } from './lives.js';
import type { Row } from './measure.js';
import { openService, tableOf, type Service } from './rows-life.js';

interface Idle {
  readonly service: Service;
  /** CPU in ms a second, by round. */
  readonly spent: Spent[];
}

/** Measures both builds at the same time: each with one API, one worker and one sender. */
export async function idleRow(rounds: number, against: string | undefined): Promise<Row> {
  const earlier = against === undefined ? undefined : await openBuild(against);
  const idle: Idle[] = [];
  try {
    idle.push({ service: await openService({}), spent: [] });
    if (earlier !== undefined) idle.push({ service: await openService({ build: earlier.root }), spent: [] });
    const [ours, limit] = idle;
    if (ours === undefined) throw new Error('at least one service is measured');
    for (const { service } of idle) {
      await service.meter.startWorkers();
      await service.meter.startSender();
    }
    // Discarded: the processes are cold, and the first proof of the records runs.
    await Promise.all(idle.map(({ service }) => service.meter.rest()));
    await Promise.all(idle.map(({ service }) => service.probe.start()));
    const fromMs = performance.now();
    for (let round = 0; round < rounds; round += 1) {
      await Promise.all(idle.map(({ service }) => service.meter.rest()));
      for (const { service, spent } of idle) spent.push(service.meter.idlePerSec);
    }
    const seconds = (performance.now() - fromMs) / 1000;
    const [of, beside] = await Promise.all(idle.map(({ service }) => service.probe.end(seconds)));
    if (of !== undefined) console.log(tableOf(of, beside, 'For each second.'));
    return spentRow(
      {
        what: 'CPU a second of a service that sells nothing, a block a second',
        against: limit === undefined ? '–' : `the build of ${against ?? ''}`,
        goal: 'ratio ≤ 0.50',
      },
      { ours: ours.spent, limit: (limit ?? ours).spent },
    );
  } finally {
    for (const { service } of idle) {
      await service.probe.close();
      await service.cluster.close();
    }
    await earlier?.remove();
  }
}
