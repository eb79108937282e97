// CPU time of processes on this machine, from /proc.
import { readFile } from 'node:fs/promises';

/** Linux: the kernel counts in hundredths of a second here. */
const TICK_MS = 10;

/** Returns the CPU time of all these processes together, user and system, ms. A missing process counts as zero. */
export async function cpuMs(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid.toString()}/stat`, 'utf8').catch(() => '');
      // Fields 14 and 15, counted after the command's name, which may contain spaces.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS;
    }),
  );
  return each.reduce((sum, ms) => sum + ms, 0);
}
