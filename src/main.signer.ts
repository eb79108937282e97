// The signer process: alone holds the pool's keys and signs only what their roles allow. `node dist/bundle/main.signer.js`.
import { messageOf } from './errors.js';
import { SignerServer } from './signer/server.js';
import { readSignerSettings } from './signer/settings.js';

try {
  const settings = readSignerSettings(process.env);
  const server = new SignerServer(settings, (event) => console.log(JSON.stringify(event)));
  await server.listen();
  console.log(JSON.stringify({ level: 'info', msg: 'listening', wallets: settings.wallets.length }));
  const stop = (): void => {
    server.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
} catch (error) {
  console.error(JSON.stringify({ level: 'fatal', msg: messageOf(error) }));
  process.exit(1);
}
