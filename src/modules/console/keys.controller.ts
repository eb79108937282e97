/**
 * Routes for a project's API keys. A secret is returned once, by the act that made it; a console cannot open stored
 * secrets.
 */
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import { ConsoleError } from '../../domain/console-error.js';
import { ApiError, invalidField } from '../../domain/errors.js';
import { UUID } from '../../domain/uuid.js';
import { ApiKeys, type KeyView } from '../projects/api-keys.js';
import { Projects } from '../projects/projects.js';
import { notFound } from './answers.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { authorOf, Person } from './caller.js';
import type { ApiKeyShape, KeySecret, MadeByKey, RevokedKey } from './data-shapes.js';
import { KeyUses } from './key-uses.js';
import {
  ChangeKeyRequest,
  KeyListQuery,
  keyOptionsOf,
  keyShape,
  MakeKeyRequest,
  RotateKeyRequest,
} from './keys.dto.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const WRITES = { merchant: ['owner'], operator: ['admin'], scope: 'project', again: true } as const;

@Controller('api/projects/:project_id/keys')
export class KeysController {
  constructor(
    private readonly keys: ApiKeys,
    private readonly projects: Projects,
    private readonly uses: KeyUses,
  ) {}

  @Get()
  @Authority(READS)
  async list(@Param('project_id') project: string, @Query() { all }: KeyListQuery): Promise<{ items: ApiKeyShape[] }> {
    return { items: (await this.keys.list(project, all === 'true')).map(keyShape) };
  }

  @Post()
  @HttpCode(201)
  @Authority(WRITES)
  async make(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Body() request: MakeKeyRequest,
  ): Promise<KeySecret> {
    if (request.scopes.length === 0) throw invalidField('scopes', 'must name at least one scope');
    const options = { ...keyOptionsOf(request), name: nameOf(request.name), scopes: [...new Set(request.scopes)] };
    const made = await this.keys.create(project, options, authorOf(caller));
    return this.secret(project, made.id, made.apiKey);
  }

  @Get(':key_id/made')
  @Authority(READS)
  async made(@Param('project_id') project: string, @Param('key_id') id: string): Promise<MadeByKey> {
    await this.find(project, id);
    return this.uses.of(project, id);
  }

  @Post(':key_id')
  @HttpCode(200)
  @Authority(WRITES)
  async change(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('key_id') id: string,
    @Body() request: ChangeKeyRequest,
  ): Promise<ApiKeyShape> {
    if (caller.audience === 'operator' && request.allowed_sources !== undefined) {
      throw new ConsoleError('FORBIDDEN', 'Only owners of the project can change allowed addresses.');
    }
    const { is_primary: isPrimary } = await this.find(project, id);
    if (isPrimary && request.scopes !== undefined)
      throw invalidField('scopes', 'cannot be changed: the primary key has all scopes');
    if (request.scopes?.length === 0) throw invalidField('scopes', 'must name at least one scope');
    if (request.name !== undefined) nameOf(request.name);
    await this.keys.setOptions(id, keyOptionsOf(request), authorOf(caller));
    return keyShape(await this.keys.get(id));
  }

  @Post(':key_id/rotate')
  @HttpCode(200)
  @Authority(WRITES)
  async rotate(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('key_id') id: string,
    @Body() { overlap_sec: overlapSec }: RotateKeyRequest,
  ): Promise<KeySecret> {
    const { is_primary: isPrimary } = await this.find(project, id);
    const act = authorOf(caller);
    const secret = isPrimary
      ? await this.projects.rotateKey(project, act, overlapSec)
      : await this.keys.rotate(id, overlapSec, act);
    return this.secret(project, id, secret);
  }

  @Post(':key_id/revoke')
  @HttpCode(200)
  @Authority(WRITES)
  async revoke(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('key_id') id: string,
    @Body() _: EmptyBody,
  ): Promise<RevokedKey> {
    await this.find(project, id);
    await this.keys.revoke(id, authorOf(caller));
    return { key: keyShape(await this.keys.get(id)), made: await this.uses.of(project, id) };
  }

  private async secret(project: string, id: string, secret: string): Promise<KeySecret> {
    const [key, made] = [await this.keys.get(id), await this.uses.of(project, id)];
    return { key: keyShape(key), merchant_id: project, secret, made };
  }

  /** Returns the key if it belongs to the project. Throws 404. */
  private async find(project: string, id: string): Promise<KeyView> {
    if (!UUID.test(id)) throw notFound('API key');
    const view = await this.keys.get(id);
    if (view.project_id !== project) throw notFound('API key');
    return view;
  }
}

function nameOf(text: string): string {
  const name = text.trim();
  if (name === '') throw new ApiError('INVALID_REQUEST', 'name: must not be blank');
  return name;
}
