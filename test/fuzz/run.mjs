// The start of `npm run fuzz`: plain Node, which runs our TypeScript through the hooks of the test set-up.
import 'reflect-metadata';
import '../setup/typescript.mjs';

const { main } = await import('./fuzz.ts');
main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
