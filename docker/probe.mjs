// Asks this container's admin port for a path (/live, /ready); exit 0 when the answer is 200.
const path = process.argv[2] ?? '/live';
const url = `http://127.0.0.1:${process.env.ADMIN_PORT ?? '9100'}${path}`;
const answer = await fetch(url, { signal: AbortSignal.timeout(2500) }).catch((error) => ({
  status: 0,
  text: () => Promise.resolve(String(error)),
}));
if (answer.status !== 200) {
  console.error(`${url} answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  process.exit(1);
}
