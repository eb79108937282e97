/**
 * The guard before every handler. After routing it checks, in this order (docs/interface.md §1): the claim, its signature,
 * its nonce, frozen project, source address, rate limit. The members of the body are checked after it.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Config } from '../config/config.js';
import { ApiError, invariant } from '../domain/errors.js';
import { receiveBody } from '../http/body/read-body.js';
import type { Route } from '../http/pipeline/routes.js';
import { requestContextOf } from '../http/pipeline/request-context.js';
import { RateLimit } from '../http/pipeline/rate-limit.js';
import { AddressList, sourceAddressOf } from '../http/pipeline/source-address.js';
import { BadSignatures } from './bad-signatures.js';
import { DUMMY_KEY, ProjectDirectory, type Entry, type KnownProject } from '../projects/project-directory.js';
import { readClaim, type Claim } from './claim.js';
import { Nonces } from './nonces.js';
import { plainOf } from '../http/body/plain-values.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

@Injectable()
export class SignatureGuard implements CanActivate {
  private readonly trustedProxies: AddressList;
  private readonly badSignatures: BadSignatures;
  private readonly bodyTimeoutMs: number;

  constructor(
    config: Config,
    private readonly directory: ProjectDirectory,
    private readonly rateLimit: RateLimit,
    private readonly nonces: Nonces,
  ) {
    this.trustedProxies = new AddressList(config.http.trustedProxies);
    this.badSignatures = new BadSignatures(config.http.badSignaturesPerMinute);
    this.bodyTimeoutMs = config.http.requestTimeoutSec * 1000;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const visit = requestContextOf(request);
    invariant(visit?.route !== undefined, 'every request passes the front of the door first');
    const { route } = visit;
    const limits = { limitBytes: route.bodyLimitBytes, timeoutMs: this.bodyTimeoutMs };
    if (route.isPublic) {
      await receiveBody(request, limits);
      return true;
    }
    const claim = await readClaim(request, limits);
    const source = sourceAddressOf(request, this.trustedProxies);
    const project = await this.identify(claim, source);
    if (claim.nonce === undefined) requireMd5(project, route);
    else await this.nonces.use(project.record.id, claim.nonce.value, claim.nonce.timestampSec);
    const body = claim.readBody();
    visit.caller = {
      project: project.record,
      body,
      requestId: visit.requestId,
      nonce: claim.nonce?.value,
      sourceAddress: source,
      rawHeaders: request.rawHeaders,
    };
    if (body !== undefined) request.body = plainOf(body.root);
    if (project.record.isFrozen) {
      throw new ApiError('PROJECT_FROZEN', 'This project is frozen; unfreeze it on the platform.');
    }
    if (project.sources?.has(source) === false) {
      throw new ApiError('SOURCE_NOT_ALLOWED', 'This project may not be used from this address.');
    }
    if (route.isRateLimited) await this.spend(project, context.switchToHttp().getResponse<Response>());
    return true;
  }

  /** The project whose key made the signature. Throws 401, 429 or 503; the same, and as slowly, for unknown ones. */
  private async identify(claim: Claim, source: string): Promise<KnownProject> {
    const blockedSec = this.badSignatures.blockedSec(source);
    if (!UUID.test(claim.merchant)) throw this.refuse(source);
    let entry = this.directory.cached(claim.merchant);
    const isFresh = entry === undefined;
    if (entry === undefined) {
      if (blockedSec > 0 && !this.directory.mayLoad(claim.merchant)) throw tooManyFailures(blockedSec);
      entry = await this.directory.load(claim.merchant);
    }
    if (isSignedBy(entry, claim)) return entry.project;
    // The cache may be behind: a new project or a new key works at once, even when its announcement was lost.
    if (!isFresh && blockedSec === 0) {
      const again = await this.directory.reread(entry);
      if (again !== undefined && isSignedBy(again, claim)) return again.project;
    }
    throw this.refuse(source);
  }

  private refuse(source: string): ApiError {
    const blockedSec = this.badSignatures.count(source);
    if (blockedSec > 0) return tooManyFailures(blockedSec);
    return new ApiError(
      'INVALID_SIGNATURE',
      'The signature does not match the body and the API key of this merchant; the usual causes are keys that were not ' +
        'sorted, and a body that changed after it was signed.',
    );
  }

  private async spend(project: KnownProject, response: Response): Promise<void> {
    const budget = await this.rateLimit.take(project.record.id);
    response.setHeader('RateLimit-Limit', budget.limit);
    response.setHeader('RateLimit-Remaining', budget.remaining);
    response.setHeader('RateLimit-Reset', budget.resetSec);
    if (budget.isSpent) {
      throw new ApiError(
        'RATE_LIMITED',
        `Quotes and simulations are limited to ${budget.limit.toString()} per minute.`,
        {
          retryAfterSec: budget.resetSec,
        },
      );
    }
  }
}

/** The check runs in full for an unknown project too, against a key that nobody has. */
function isSignedBy(entry: Entry, claim: Claim): entry is Entry & { readonly project: KnownProject } {
  const matches = claim.isSignedWith(entry.project?.apiKey ?? DUMMY_KEY);
  // A project that takes MD5 alone has no HMAC that matches.
  const isTaken = claim.nonce === undefined || entry.project?.record.signatureSchemes !== 'md5';
  return matches && isTaken && entry.project !== undefined;
}

/** MD5 covers neither path nor method: it is taken where it always was, and for projects that allow it. */
function requireMd5({ record }: KnownProject, route: Route): void {
  if (route.acceptsMd5 && record.signatureSchemes !== 'hmac') return;
  const what = route.acceptsMd5 ? 'This project' : 'This path';
  throw new ApiError('HMAC_REQUIRED', `${what} takes requests signed by HMAC only: send X-CC-Signature.`);
}

function tooManyFailures(retryAfterSec: number): ApiError {
  return new ApiError('RATE_LIMITED', 'Too many requests from this address had a wrong signature.', { retryAfterSec });
}
