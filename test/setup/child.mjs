// A child process with bad manners, for the tests of packages/local. Its argument says which.
const [manner] = process.argv.slice(2);

// It ignores every polite request and never watches its parent.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
if (manner === 'dies') {
  console.error('the reason why');
  process.exit(3);
}
console.log(manner === 'silent' ? 'not what you wait for' : JSON.stringify({ port: 4711, seen: process.env.SEEN }));
setInterval(() => undefined, 1000);
