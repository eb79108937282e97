// Starts the bench (or its bare server, as a child) under plain Node.
import '../test/setup/typescript.mjs';

await import(process.argv[2] === 'bare-server' ? './bare-server.ts' : './main.ts');
