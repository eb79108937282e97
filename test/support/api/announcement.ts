import type { INestApplicationContext } from '@nestjs/common';
import { until } from '../../../packages/local/src/wait.js';
import { monotonicMs } from '../../../src/platform/support/clock.js';
import { ProjectDirectory } from '../../../src/modules/projects/project-directory.js';

/**
 * Changes the project or its keys. Returns once the project cache of every process in `processes` is no older than the
 * change.
 */
export async function afterAnnouncement<T>(
  processes: readonly INestApplicationContext[],
  { merchant }: { readonly merchant: string },
  change: () => Promise<T>,
): Promise<T> {
  const result = await change();
  const changedMs = monotonicMs();
  const isInformed = (process: INestApplicationContext): boolean =>
    (process.get(ProjectDirectory).cached(merchant)?.readMs ?? changedMs) >= changedMs;
  await until(() => processes.every(isInformed) || undefined, 10_000, 'the announcement', 5);
  return result;
}
