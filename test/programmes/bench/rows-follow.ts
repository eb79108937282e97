// CPU share of a core that a worker and an API process need to follow full blocks; measured in a separate process.
import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Row } from './measure.js';

interface Followed {
  readonly name: string;
  readonly percent: number;
  readonly blocks: number;
  readonly isHealthy: boolean;
}

export async function followRows(seconds: number): Promise<Row[]> {
  const script = fileURLToPath(new URL('follow-blocks.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, seconds.toString()]);
  const lines = stdout.trim().split('\n');
  return lines.map((line) => {
    const { name, percent, blocks, isHealthy } = JSON.parse(line) as Followed;
    if (!isHealthy) throw new Error(`the ${name} could not follow the blocks`);
    return {
      what: `following blocks of 600 transactions of 2 KB, one process: ${name}`,
      against: 'a core; a block every 3 s over 3 MB/s',
      unit: '%',
      ours: percent,
      limit: 100,
      ratio: percent / 100,
      goal: '< 0.25',
      spread: [percent, percent],
      note: `${blocks.toString()} blocks in ${seconds.toString()} s, load average ${loadavg()[0]!.toFixed(1)}`,
    };
  });
}
