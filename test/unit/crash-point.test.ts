// The crash programme can only be trusted when every point it names stands in the code.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { armCrashPoint, CRASH_POINTS, crashPoint } from '../../src/base/crash-point.js';

/** Every crashPoint('…') of the service, file by file. */
function placed(): string[] {
  return readdirSync('src', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && entry.name !== 'crash-point.ts')
    .flatMap((entry) => [
      ...readFileSync(join(entry.parentPath, entry.name), 'utf8').matchAll(/crashPoint\('([a-z-]+\.[a-z]+)'\)/g),
    ])
    .map((match) => match[1]!);
}

describe('crash points', () => {
  it('are forty at least, each named once and standing in the code', () => {
    expect(CRASH_POINTS.length).toBeGreaterThanOrEqual(40);
    expect(new Set(CRASH_POINTS).size).toBe(CRASH_POINTS.length);
    expect(CRASH_POINTS.filter((point) => !placed().includes(point))).toEqual([]);
  });

  it('that are unknown, or counted from zero, are refused: no run is silently quiet', () => {
    expect(() => {
      armCrashPoint('claim.never');
    }).toThrow('CRASH_AT');
    expect(() => {
      armCrashPoint('claim.before:0');
    }).toThrow('CRASH_AT');
    expect(() => {
      armCrashPoint('claim.before:x');
    }).toThrow('CRASH_AT');
    expect(() => {
      armCrashPoint('claim.before:1:pause');
    }).toThrow('CRASH_AT');
  });

  it('that are not armed do nothing', () => {
    armCrashPoint(undefined);
    for (const point of CRASH_POINTS) crashPoint(point);
  });
});
