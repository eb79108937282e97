// Starts main.ts under plain Node.
import '../setup/typescript.mjs';

await import('./main.ts');
