// Jest's global tear-down; the same module instance as in the set-up holds what was started.
import './typescript.mjs';

export default async function globalTeardown() {
  const { stopServices } = await import('./services.ts');
  await stopServices();
}
