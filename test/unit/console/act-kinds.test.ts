import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACT_KINDS } from '../../../src/domain/act-kinds.js';

const ROOT = new URL('../../../src/modules', import.meta.url).pathname;
const ACTION = /(?:action: |witness\(tx, )['`]([a-z-]+)\./g;

it('the filter of the audit log offers every kind of action that the service records', () => {
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const recorded = files.flatMap((name) =>
    [...readFileSync(join(ROOT, name), 'utf8').matchAll(ACTION)].map(([, kind]) => kind!),
  );
  expect(recorded.length).toBeGreaterThan(20);
  expect([...new Set(recorded)].filter((kind) => !(ACT_KINDS as readonly string[]).includes(kind))).toEqual([]);
});
