// Entry point of `npm run upgrade`: plain Node with the test set-up's TypeScript hooks.
import 'reflect-metadata';
import { command } from '../../setup/command.mjs';
import '../../setup/typescript.mjs';

const { main } = await import('./main.ts');
await command('upgrade', () => main(process.argv.slice(2)));
