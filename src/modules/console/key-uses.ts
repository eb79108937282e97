/**
 * Finds the objects that an API key made and that continue without a signature, for display before a rotation. Reads
 * only.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { maskedUrl } from '../../domain/masked-url.js';
import { AutoDelegation } from '../../platform/database/entities/auto-delegation.entity.js';
import { WebhookEndpoint } from '../../platform/database/entities/webhook-endpoint.entity.js';
import type { MadeByKey } from './data-shapes.js';

const SHOWN_MAX = 100;

@Injectable()
export class KeyUses {
  constructor(
    @InjectRepository(WebhookEndpoint) private readonly endpoints: Repository<WebhookEndpoint>,
    @InjectRepository(AutoDelegation) private readonly autoDelegations: Repository<AutoDelegation>,
  ) {}

  async of(projectId: string, keyId: string): Promise<MadeByKey> {
    const webhooks = await this.endpoints.find({
      select: { id: true, url: true },
      where: { projectId, madeByKey: keyId, deletedAt: IsNull() },
      order: { createdAt: 'ASC' },
    });
    const [found, count] = await this.autoDelegations.findAndCount({
      select: { id: true, address: true },
      where: { projectId, apiKeyId: keyId },
      order: { id: 'DESC' },
      take: SHOWN_MAX,
    });
    return {
      webhooks: webhooks.map(({ id, url }) => ({ id, url: maskedUrl(url) })),
      auto_delegations: found.map(({ address }) => address),
      auto_delegations_count: count,
    };
  }
}
