// Entry point of `npm run races`: plain Node with the test set-up's TypeScript hooks.
import { command } from '../../setup/command.mjs';
import '../../setup/typescript.mjs';

const { main } = await import('./main.ts');
await command('races', () => main(process.argv.slice(2)));
