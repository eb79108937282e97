// The start of `npm run races`: plain Node, which runs our TypeScript through the hooks of the test set-up.
import { command } from '../setup/command.mjs';
import '../setup/typescript.mjs';

const { main } = await import('./main.ts');
await command('races', () => main(process.argv.slice(2)));
