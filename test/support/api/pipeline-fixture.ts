// The request pipeline in front of small handlers: the real server, guard, filter, Postgres and Redis. The handlers
// only echo their input.
import { Body, Controller, Get, HttpCode, Module, Param, Post, type INestApplication } from '@nestjs/common';
import { AuthModule } from '../../../src/modules/auth/auth.module.js';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { readConfig, type Config } from '../../../src/platform/config/config.js';
import { ApiError, HTTP_STATUS, isErrorCode } from '../../../src/domain/errors.js';
import { Caller } from '../../../src/platform/http/pipeline/request-context.js';
import { readIdempotencyKey } from '../../../src/platform/http/pipeline/idempotency-key.js';
import { Log } from '../../../src/platform/observability/logger.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { readWait } from '../../../src/platform/http/pipeline/prefer.js';
import { RouteOptionsOf, SIMULATE_BODY_LIMIT_BYTES } from '../../../src/platform/http/pipeline/route-options.js';
import { createHttpApp, drain, serverOf } from '../../../src/platform/http/pipeline/server.js';
import { IsInteger, IsText, Optional, SaleBounds } from '../../../src/platform/http/body/member-rules.js';
import { Projects } from '../../../src/modules/projects/projects.js';
import { PlatformModule } from '../../../src/platform/platform.module.js';
import { Database } from '../../../src/platform/database/database.js';
import { Customer } from './client.js';
import { closeApp, openAsOwner } from './factory.js';
import { openLog } from '../log.js';
import { settings } from '../cli.js';
import { envAs } from '../../setup/roles.js';
import { ledgerOn, projectsOn } from './services.js';

class ProbeRequest {
  @IsText({ maxLength: 64, description: 'Any text.' })
  declare readonly receive_address: string;

  @Optional()
  @IsInteger(() => ({ min: 1000, max: 100_000_000 }), 'Any energy.')
  declare readonly energy?: number;
}

@Controller('v1')
class ProbeController {
  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** Reaches the handler for any body. */
  @Post('echo')
  @HttpCode(200)
  @RouteOptionsOf({ bodyLimitBytes: SIMULATE_BODY_LIMIT_BYTES, scope: 'read', acceptsMd5: true })
  echo(@Caller() caller: Caller) {
    return { project: caller.project.id, source: caller.sourceAddress, text: caller.body?.text };
  }

  @Post('limited')
  @HttpCode(200)
  @RouteOptionsOf({ budget: 'quotes', scope: 'quote', acceptsMd5: true })
  limited(@Body() body: ProbeRequest) {
    return body;
  }

  @Post('also-limited')
  @HttpCode(200)
  @RouteOptionsOf({ budget: 'quotes', scope: 'quote', acceptsMd5: true })
  alsoLimited() {
    return {};
  }

  @Post('buy')
  @HttpCode(200)
  @RouteOptionsOf({ scope: 'order', acceptsMd5: true })
  buy(@Caller() caller: Caller, @Body() body: ProbeRequest) {
    const { receive_address, energy } = body;
    return { receive_address, energy, key: readIdempotencyKey(caller), waitSec: readWait(caller) };
  }

  @Get('things')
  @RouteOptionsOf({ acceptsMd5: true })
  list(@Caller() caller: Caller) {
    return { project: caller.project.id };
  }

  @Get('things/:key')
  @RouteOptionsOf({ acceptsMd5: true })
  thing(@Param('key') key: string) {
    return { key };
  }

  @Get('database')
  @RouteOptionsOf({ acceptsMd5: true })
  async askDatabase() {
    return this.database.query('SELECT 1 AS one');
  }

  @Get('fail/:code')
  @RouteOptionsOf({ acceptsMd5: true })
  fail(@Param('code') code: string): never {
    if (isErrorCode(code)) {
      const time = code === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE' && { serverTime: 1_795_430_400 };
      const position = code === 'EVENTS_EXPIRED' && { oldestPosition: 7 };
      const charge = HTTP_STATUS[code] === 402 && { charge: { needed: 7n, available: 6n } };
      const extras = { cause: new Error('inside'), ...time, ...position, ...charge };
      throw new ApiError(code, 'A sentence to act on.', extras);
    }
    throw new Error(`no such code: ${code}`);
  }

  @Get('slow')
  @RouteOptionsOf({ acceptsMd5: true })
  async slow() {
    this.log.info({}, 'reached slow');
    await sleep(300);
    return { answered: true };
  }

  /** A route without signature options, like a new route. */
  @Post('plain')
  @HttpCode(200)
  plain(@Caller() caller: Caller) {
    return { project: caller.project.id, nonce: caller.nonce };
  }

  @Get('broken')
  @RouteOptionsOf({ acceptsMd5: true })
  broken(): never {
    throw new Error('postgres://user:hunter2@db/energy broke, and nobody should read this');
  }
}

@Module({
  controllers: [ProbeController],
  providers: [{ provide: SaleBounds, useValue: { longestSec: undefined } }],
})
class ProbeModule {}

export interface PipelineApp {
  readonly baseUrl: string;
  readonly app: INestApplication;
  readonly config: Config;
  /** Everything logged so far. */
  readonly logged: () => string;
  readonly metrics: () => Promise<string>;
  readonly projects: Projects;
  readonly ledger: Ledger;
  /** The owner's connection. The app itself has fewer rights. */
  readonly database: Database;
  /** Returns a client of a new project with its own key. */
  readonly customer: (name: string) => Promise<Customer>;
  /** Shuts down as on SIGTERM: requests in progress are answered first. */
  readonly stop: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export const AUTHOR = { actor: 'test', reason: 'test' };

/** Starts a pipeline on a free port. `env` adds or replaces settings. */
export async function openPipeline(databaseUrl: string, env: Record<string, string> = {}): Promise<PipelineApp> {
  const config = readConfig(envAs(settings(databaseUrl, { LOG_LEVEL: 'silent', ...env }), 'api'));
  const lines: string[] = [];
  const log = openLog(config.logLevel, (line) => lines.push(line));
  const module = {
    module: ProbeModule,
    imports: [PlatformModule.for('api', config, log), AuthModule],
  };
  const app = await createHttpApp(module, config);
  await app.listen(0, '127.0.0.1');
  const address = serverOf(app).address();
  if (address === null || typeof address === 'string') throw new Error('the pipeline has no port');
  const baseUrl = `http://127.0.0.1:${address.port.toString()}`;
  const database = await openAsOwner(databaseUrl);
  const ledger = ledgerOn(database);
  const projects = projectsOn(database, app);
  return {
    baseUrl,
    app,
    config,
    logged: () => lines.join(''),
    metrics: () => app.get(Metrics).registry.metrics(),
    projects,
    ledger,
    database,
    customer: async (name) => {
      const { id, apiKey } = await projects.create(name, { kind: 'prepaid' }, AUTHOR);
      return new Customer(baseUrl, id, apiKey);
    },
    stop: async () => {
      await drain(serverOf(app), 60_000);
      await app.close();
      await database.source.destroy();
    },
    close: () => closeApp(app, database),
  };
}
