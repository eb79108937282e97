// The start of `npm run fuzz`: plain Node, which runs our TypeScript through the hooks of the test set-up.
import 'reflect-metadata';
import { command } from '../setup/command.mjs';
import '../setup/typescript.mjs';

const { main } = await import('./fuzz.ts');
await command('fuzz', () => main(process.argv.slice(2)));
