// The SDK's generated types and its version.
import { readFileSync, writeFileSync } from 'node:fs';
import { TYPES_OF_SDK, typesOf, type Document } from '../../support/api/sdk-types.js';

const jsonOf = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

it('openapi.json determines the types of the SDK (UPDATE_OPENAPI=1 writes them)', () => {
  const types = typesOf(jsonOf('openapi.json') as Document);
  if (process.env['UPDATE_OPENAPI'] === '1') writeFileSync(TYPES_OF_SDK, types);
  expect(readFileSync(TYPES_OF_SDK, 'utf8')).toBe(types);
});

it('the SDK names its version to the service, and depends on nothing', () => {
  const manifest = jsonOf('packages/sdk/package.json') as { version: string; dependencies: object };
  expect(readFileSync('packages/sdk/src/transport.ts', 'utf8')).toContain(`const VERSION = '${manifest.version}';`);
  expect(manifest.dependencies).toEqual({});
});
