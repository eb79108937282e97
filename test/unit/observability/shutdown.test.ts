import 'reflect-metadata';
import { Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { closeApp } from '../../../src/platform/observability/shutdown.js';
import { openLog } from '../../support/log.js';

const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const;

@Module({})
class App {}

/** Opens an application as the worker does, with a part whose hooks `failing` throw. */
async function openApp(failing: readonly string[], ran: string[]) {
  const run = (hook: string) => async () => {
    ran.push(hook);
    await Promise.resolve();
    if (failing.includes(hook)) throw new Error(`${hook} failed`);
  };
  const part = Object.fromEntries(HOOKS.map((hook) => [hook, run(hook)]));
  const module: DynamicModule = { module: App, providers: [{ provide: 'part', useValue: part }] };
  return NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
}

test.each(HOOKS)('rejects and logs the error when %s fails, and runs the other hooks', async (failing) => {
  const [ran, lines]: [string[], string[]] = [[], []];
  const log = openLog('info', (line) => lines.push(line));
  const app = await openApp([failing], ran);
  await expect(closeApp(app, log)).rejects.toThrow('1 shutdown hook failed');
  expect(ran).toEqual([...HOOKS]);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({
      level: 'error',
      msg: 'failed to run a shutdown hook',
      err: expect.objectContaining({ message: `${failing} failed` }) as unknown,
    }),
  ]);
});

test('resolves without a line when all hooks succeed', async () => {
  const [ran, lines]: [string[], string[]] = [[], []];
  await closeApp(
    await openApp([], ran),
    openLog('info', (line) => lines.push(line)),
  );
  expect(ran).toEqual([...HOOKS]);
  expect(lines).toEqual([]);
});
