// Starts the bench, or its bare server as a child, under plain Node.
import { command } from '../../setup/command.mjs';
import '../../setup/typescript.mjs';

if (process.argv[2] === 'bare-server') await import('./bare-server.ts');
else await command('bench', async () => void (await import('./main.ts')));
