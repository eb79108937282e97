/**
 * The client family's credits routes: the project's balance, and a top-up, which always answers 501
 * TOPUP_NOT_CONFIGURED.
 */
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import { Ledger } from '../billing/ledger.js';
import { ApiError, invariant } from '../../domain/errors.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { creditsBalanceBody, TopupRequest, type CreditsBalanceBody } from './energy.dto.js';
import { describeCreditsBalance, describeTopup } from './energy.openapi.js';

@Controller('v1/credits')
export class CreditsController {
  constructor(private readonly ledger: Ledger) {}

  @Post('balance')
  @Describe(describeCreditsBalance)
  @HttpCode(200)
  @RouteOptionsOf({ scope: 'read', acceptsMd5: true, mayBeEmpty: true })
  async balance(@Caller() { project }: Caller, @Body() _: EmptyBody): Promise<CreditsBalanceBody> {
    const balance = await this.ledger.balanceOf(project.id);
    invariant(balance !== undefined, 'every project has an account');
    return creditsBalanceBody(balance);
  }

  @Post('topup')
  @Describe(describeTopup)
  @HttpCode(200)
  @RouteOptionsOf({ scope: 'manage', mayBeEmpty: true })
  topup(@Caller() _caller: Caller, @Body() _request: TopupRequest): never {
    throw new ApiError('TOPUP_NOT_CONFIGURED', 'Credits cannot be bought here. Ask the operator of the service.');
  }
}
