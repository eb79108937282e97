// A sender inside the test, with its database role and its one key. It steps on demand.
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { until } from '../../../packages/local/src/wait.js';
import { deriveSettings } from '../../../src/platform/config/config.js';
import { readSenderConfig } from '../../../src/platform/config/sender-config.js';
import { SenderModule } from '../../../src/apps/sender/sender.module.js';
import { SenderLoop } from '../../../src/modules/sender/sender-loop.js';
import { openLog } from '../log.js';
import { envAs } from '../../setup/roles.js';

const LIMIT_MS = 20_000;
/** Settings of the service that a sender shares. */
const SHARED = [
  ...['DATABASE_URL', 'DATABASE_DIRECT_URL', 'PG_NAMED_STATEMENTS'],
  ...['WEBHOOK_PORTS', 'WEBHOOK_ALLOW_HTTP', 'WEBHOOK_ALLOW_NETWORKS'],
];

export interface TestSender {
  readonly app: INestApplicationContext;
  readonly loop: SenderLoop;
  /** Steps until `isDone`. */
  readonly run: (isDone: () => boolean | Promise<boolean>) => Promise<void>;
}

/** Opens a sender. It uses the master key and the `WEBHOOK_` settings of the service's settings `serviceSettings`. */
export async function openSender(
  serviceSettings: Readonly<Record<string, string>>,
  extra: Readonly<Record<string, string>> = {},
): Promise<TestSender> {
  const [line] = deriveSettings(serviceSettings, 'sender');
  const env = envAs(
    {
      ...Object.fromEntries(
        SHARED.filter((name) => name in serviceSettings).map((name) => [name, serviceSettings[name]!]),
      ),
      ...{ [line!.name]: line!.value, DATABASE_POOL_MAX: '8' },
      ...extra,
    },
    'sender',
  );
  const config = readSenderConfig(env);
  const app = await NestFactory.createApplicationContext(SenderModule.for(config, openLog('silent')), {
    logger: false,
  });
  const loop = app.get(SenderLoop);
  const run = (isDone: () => boolean | Promise<boolean>): Promise<void> =>
    until(
      async () => {
        await loop.runPass();
        return (await isDone()) ? true : undefined;
      },
      LIMIT_MS,
      'the sender being done',
      20,
    ).then(() => undefined);
  return { app, loop, run };
}
