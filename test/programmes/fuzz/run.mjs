// Entry point of `npm run fuzz`: plain Node with the test set-up's TypeScript hooks.
import 'reflect-metadata';
import { command } from '../../setup/command.mjs';
import '../../setup/typescript.mjs';

const { main } = await import('./fuzz.ts');
await command('fuzz', () => main(process.argv.slice(2)));
