// The signer process: the only holder of the pool's keys, signs only operations that their roles allow. `node
// dist/bundle/main.signer.js`.
import { failStart } from '../../platform/support/fatal.js';
import { requireNativeSignatures } from '../../platform/chain/native-signatures.js';
import { SignerServer } from '../../modules/signer/server.js';
import { readSignerSettings } from '../../modules/signer/settings.js';

try {
  let stop = (): void => process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop());
  const settings = readSignerSettings(process.env);
  if (!settings.allowSlowSignatures) requireNativeSignatures();
  const server = new SignerServer(settings, (event) => console.log(JSON.stringify(event)));
  await server.listen();
  console.log(JSON.stringify({ level: 'info', msg: 'listening', wallets: settings.wallets.length }));
  stop = (): void => {
    server.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
} catch (error) {
  failStart(error);
}
