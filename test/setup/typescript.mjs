// Import this module first, then load TypeScript files with await import().
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
