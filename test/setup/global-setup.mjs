// Jest's global set-up. A thin JavaScript entry to services.ts, because Jest loads it with plain Node.
import './typescript.mjs';

export default async function globalSetup() {
  const { startServices } = await import('./services.ts');
  await startServices();
}
