// The start of `npm run chaos`: plain Node, which runs our TypeScript through the hooks of the test set-up.
import 'reflect-metadata';
import '../setup/typescript.mjs';

const { main } = await import('./main.ts');
main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
