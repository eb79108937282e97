// A badly behaved child process for the tests of packages/local. Its argument selects the behaviour.
const [manner] = process.argv.slice(2);

// Ignores every termination signal and does not watch its parent.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
if (manner === 'dies') {
  console.error('the reason why');
  process.exit(3);
}
console.log(manner === 'silent' ? 'not what you wait for' : JSON.stringify({ port: 4711, seen: process.env.SEEN }));
setInterval(() => undefined, 1000);
