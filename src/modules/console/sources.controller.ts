/**
 * Routes for the allowed sources of a project and its keys, with a check of the callers that a change would lock out.
 */
import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { AddressList } from '../../platform/http/pipeline/source-address.js';
import { IsText, Optional } from '../../platform/http/body/member-rules.js';
import { ApiKeys, type RecentSource } from '../projects/api-keys.js';
import { Projects } from '../projects/projects.js';
import { notFound } from './answers.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { authorOf, Person } from './caller.js';
import type { RecentCaller, SetSources, SourcesCheck, SourcesShape } from './data-shapes.js';
import { IsSources } from './keys.dto.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const WRITES = { merchant: ['owner'], scope: 'project', again: true } as const;
/** For the check, which changes nothing. */
const ASKS = { merchant: ['owner'], scope: 'project' } as const;

class SourcesRequest implements SetSources {
  @IsSources()
  declare readonly allowed_sources: readonly string[];

  @Optional()
  @IsText({ maxLength: 36, description: 'The key whose list it is; absent: the project’s.' })
  declare readonly key_id?: string;
}

/** The lists of the project and its keys, from one read. */
interface Lists {
  readonly project: readonly string[];
  readonly keys: readonly { readonly id: string; readonly name: string; readonly allowed_sources: readonly string[] }[];
}

@Controller('api/projects/:project_id/sources')
export class SourcesController {
  constructor(
    private readonly projects: Projects,
    private readonly keys: ApiKeys,
  ) {}

  @Get()
  @Authority(READS)
  async read(@Param('project_id') project: string): Promise<SourcesShape> {
    const lists = await this.lists(project);
    const isAllowed = judgeBy(lists);
    return {
      allowed_sources: lists.project,
      keys: lists.keys,
      callers: (await this.keys.recentSources(project)).map((source) => callerOf(source, isAllowed(source))),
    };
  }

  @Post('check')
  @HttpCode(200)
  @Authority(ASKS)
  async check(@Param('project_id') project: string, @Body() request: SourcesRequest): Promise<SourcesCheck> {
    const before = await this.lists(project);
    const [was, will] = [judgeBy(before), judgeBy(changed(before, request))];
    const callers = await this.keys.recentSources(project);
    return {
      locked_out: callers.filter((each) => was(each) && !will(each)).map((each) => callerOf(each, true)),
      still_allowed: callers.filter(will).length,
    };
  }

  @Post()
  @HttpCode(200)
  @Authority(WRITES)
  async set(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Body() request: SourcesRequest,
  ): Promise<SourcesShape> {
    const { key_id: keyId } = request;
    changed(await this.lists(project), request);
    const allowedSources = [...new Set(request.allowed_sources)];
    if (keyId === undefined) await this.projects.change(project, { allowedSources }, authorOf(caller));
    else await this.keys.setOptions(keyId, { allowedSources }, authorOf(caller));
    return this.read(project);
  }

  private async lists(projectId: string): Promise<Lists> {
    const { allowed_sources: project } = await this.projects.get(projectId);
    const keys = await this.keys.list(projectId);
    return {
      project,
      keys: keys.map(({ id, name, allowed_sources: sources }) => ({ id, name, allowed_sources: sources })),
    };
  }
}

/** Returns the changed lists. Throws 404 for a key that is revoked or not the project's. */
function changed({ project, keys }: Lists, { allowed_sources: sources, key_id: keyId }: SourcesRequest): Lists {
  if (keyId === undefined) return { project: sources, keys };
  if (!keys.some(({ id }) => id === keyId)) throw notFound('API key');
  return { project, keys: keys.map((key) => (key.id === keyId ? { ...key, allowed_sources: sources } : key)) };
}

/** Judges like the check of an API request: by both lists, of which an empty one allows any address. */
function judgeBy({ project, keys }: Lists): (source: RecentSource) => boolean {
  const of = (sources: readonly string[]) => (sources.length === 0 ? undefined : new AddressList(sources));
  const whole = of(project);
  const byKey = new Map(keys.map(({ id, allowed_sources: sources }) => [id, of(sources)]));
  return ({ key_id: keyId, address }) => whole?.has(address) !== false && byKey.get(keyId)?.has(address) !== false;
}

const callerOf = ({ key_id: id, key_name: name, address, at }: RecentSource, allowed: boolean): RecentCaller => ({
  address,
  key: { id, name },
  at,
  allowed,
});
