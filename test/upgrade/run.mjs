// The start of `npm run upgrade`: plain Node, which runs our TypeScript through the hooks of the test set-up.
import 'reflect-metadata';
import { command } from '../setup/command.mjs';
import '../setup/typescript.mjs';

const { main } = await import('./main.ts');
await command('upgrade', () => main(process.argv.slice(2)));
