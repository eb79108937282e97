// Jest's global tear-down. It imports the module instance of the set-up, which holds the started services.
import './typescript.mjs';

export default async function globalTeardown() {
  const { stopServices } = await import('./services.ts');
  await stopServices();
}
