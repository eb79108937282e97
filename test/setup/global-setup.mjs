// Jest's global set-up: a thin entry to services.ts, in JavaScript because Jest loads it with plain Node.
import './typescript.mjs';

export default async function globalSetup() {
  const { startServices } = await import('./services.ts');
  await startServices();
}
