// Entry point of `npm run chaos`: plain Node with the test set-up's TypeScript hooks.
import 'reflect-metadata';
import { command } from '../../setup/command.mjs';
import '../../setup/typescript.mjs';

const { main } = await import('./main.ts');
await command('chaos', () => main(process.argv.slice(2)));
