// The reference for the API: a bare NestJS+Express handler that answers the same bytes, or runs the same SQL as one
// prepared statement through pg and answers its row. No signature, validation or logging.
import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
import { Body, Controller, Get, HttpCode, Module, Post, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request, Response } from 'express';
import pg from 'pg';

/** Answers and SQL parameters, passed as JSON in BARE. */
export interface BareSettings {
  readonly databaseUrl: string;
  readonly poolMax: number;
  readonly projects: readonly string[];
  readonly receiver: string;
  readonly amountSun: string;
  readonly bytes: Readonly<Record<string, string>>;
  readonly orderKey: { readonly project: string; readonly key: string };
}

const settings = JSON.parse(process.env['BARE'] ?? '{}') as BareSettings;
const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: settings.poolMax });
const hash = randomBytes(32);
let turn = 0;

const ACCEPT = `SELECT created, order_id, order_created_at, same_request
  FROM take_order($1, $1, $2, $3, 'rental', $4, $5, $6, 65000, 3600, 2925000, 8775000, 30000000, $7, 1, NULL, 'bare')`;

async function accept(project: string, quote: boolean): Promise<unknown> {
  const expires = quote ? new Date(Date.now() + 60_000).toISOString() : null;
  const key = randomBytes(16).toString('base64url');
  const { rows } = await pool.query({
    name: 'accept',
    text: ACCEPT,
    values: [project, key, hash, quote ? randomUUID() : null, expires, settings.receiver, settings.amountSun],
  });
  return { ...(rows[0] as object), key };
}

@Controller('bare')
class BareController {
  @Post('bytes/:name')
  @HttpCode(200)
  bytes(@Req() request: Request, @Res() response: Response, @Body() body: unknown): void {
    const name = String(request.params['name']);
    response.type('application/json').send(body === undefined ? '' : settings.bytes[name]);
  }

  @Post('orders')
  @HttpCode(202)
  async orders(@Req() request: Request): Promise<unknown> {
    turn = (turn + 1) % settings.projects.length;
    const isHot = request.query['hot'] !== undefined;
    return accept(settings.projects[isHot ? 0 : turn] ?? '', request.query['quote'] !== undefined);
  }

  @Get('orders')
  async order(): Promise<unknown> {
    const { rows } = await pool.query({
      name: 'order',
      text: `SELECT * FROM orders WHERE project_id = $1 AND key = $2`,
      values: [settings.orderKey.project, settings.orderKey.key],
    });
    return rows[0];
  }

  @Get('balance')
  async balance(): Promise<unknown> {
    const { rows } = await pool.query({
      name: 'balance',
      text: `SELECT *, clock_timestamp() AS now FROM credit_account WHERE project_id = $1`,
      values: [settings.orderKey.project],
    });
    return rows[0];
  }

  @Post('replay')
  async replay(): Promise<unknown> {
    return this.order();
  }
}

@Module({ controllers: [BareController] })
class BareModule {}

const app = await NestFactory.create<NestExpressApplication>(BareModule, { logger: false });
app.disable('x-powered-by');
app.disable('etag');
await app.listen(Number(process.env['PORT']), '127.0.0.1');
console.log('{"msg":"listening"}');
process.on('SIGTERM', () => process.exit(0));
