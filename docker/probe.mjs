// Health probe of this container's process; exit code 0 if it is healthy.
//   probe.mjs [PATH]     requests a path of its admin port (/live, /ready)
//   probe.mjs --signer   checks over the signer's socket that it holds a key
//   probe.mjs URL        requests a URL of another program, such as the local chain
import { connect } from 'node:net';

const LIMIT_MS = 2500;

async function askUrl(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
  if (answer.status !== 200)
    throw new Error(`${url} answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
}

async function askSigner() {
  const path = process.env.SIGNER_SOCKET ?? '';
  const socket = connect(path);
  socket.setTimeout(LIMIT_MS, () => socket.destroy(new Error(`${path} did not answer`)));
  socket.write('{"id":1,"list":true}\n');
  let heard = '';
  for await (const chunk of socket) {
    heard += chunk;
    if (heard.endsWith('\n')) break;
  }
  if (!(JSON.parse(heard).wallets?.length > 0)) throw new Error(`${path} answered ${heard.slice(0, 300)}`);
}

const [, , asked = '/live'] = process.argv;
try {
  const admin = `http://127.0.0.1:${process.env.ADMIN_PORT ?? '9100'}`;
  await (asked === '--signer' ? askSigner() : askUrl(new URL(asked, admin).href));
} catch (error) {
  console.error(String(error.cause ?? error));
  process.exit(1);
}
