/**
 * The guard before every handler. After routing it checks, in this order (docs/interface.md §1): claim, signature,
 * nonce, frozen project, scope, source address, rate limit. The members of the body are checked later.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Config } from '../../platform/config/config.js';
import { ApiError, invariant } from '../../domain/errors.js';
import { UUID } from '../../domain/uuid.js';
import { receiveBody } from '../../platform/http/body/read-body.js';
import type { BudgetName } from '../../platform/http/pipeline/route-options.js';
import type { Route } from '../../platform/http/pipeline/routes.js';
import { requestContextOf } from '../../platform/http/pipeline/request-context.js';
import { RateLimit } from '../../platform/http/pipeline/rate-limit.js';
import { AddressList, sourceAddressOf } from '../../platform/http/pipeline/source-address.js';
import { BadSignatures } from './bad-signatures.js';
import { ProjectDirectory, type Entry, type KnownProject } from '../projects/project-directory.js';
import { isInUse, readClaim, type Claim, type KnownSecret } from './claim.js';
import { KeyUse } from './key-use.js';
import { Nonces } from './nonces.js';
import { RequestLog, type Attempt } from './request-log.js';
import { plainOf } from '../../platform/http/body/plain-values.js';

const COUNTED: Readonly<Record<BudgetName, string>> = {
  quotes: 'Quotes, simulations and explanations',
  general: 'Requests of this kind',
  testOrders: 'Orders of a test project',
};

/** The signer of a request. */
interface Identity {
  readonly project: KnownProject;
  readonly secret: KnownSecret;
}

/** The facts that a request is judged by besides its signature. */
interface Asked {
  readonly route: Route;
  readonly source: string;
}

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
    private readonly keyUse: KeyUse,
    private readonly requestLog: RequestLog,
  ) {
    this.trustedProxies = new AddressList(config.http.trustedProxies);
    this.badSignatures = new BadSignatures(config.http.badSignaturesPerMinute);
    this.bodyTimeoutMs = config.http.requestTimeoutSec * 1000;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const requestContext = requestContextOf(request);
    invariant(requestContext?.route !== undefined, 'every request passes the pipeline first');
    const { route } = requestContext;
    const limits = { limitBytes: route.bodyLimitBytes, timeoutMs: this.bodyTimeoutMs };
    if (route.isPublic) {
      await receiveBody(request, limits);
      return true;
    }
    const attempt: Attempt = { request, requestContext, claim: undefined };
    requestContext.onRefused = (error) => this.requestLog.note(attempt, error);
    const claim = await readClaim(request, limits);
    attempt.claim = claim;
    const source = sourceAddressOf(request, this.trustedProxies);
    const asked = { route, source };
    const identity = await this.identify(claim, asked);
    const { project, secret } = identity;
    requestContext.isTest = project.record.isTest;
    if (claim.nonce === undefined) requireMd5(project, route);
    else await this.nonces.use(project.record.id, claim.nonce.value, claim.nonce.timestampSec);
    const body = claim.readBody();
    this.keyUse.note(secret.key.id);
    requestContext.caller = {
      project: project.record,
      keyId: secret.key.id,
      body,
      requestId: requestContext.requestId,
      nonce: claim.nonce?.value,
      sourceAddress: source,
      rawHeaders: request.rawHeaders,
      judgeAgain: this.judgeOf(identity, claim.nonce !== undefined, asked),
    };
    if (body !== undefined) request.body = plainOf(body.root);
    requireAllowed(identity, asked);
    this.keyUse.noteSource(secret.key.id, source);
    const budget = route.isPurchase && project.record.isTest ? 'testOrders' : route.budget;
    if (budget !== undefined) await this.spend(budget, project, context.switchToHttp().getResponse<Response>());
    return true;
  }

  /**
   * Returns the project and its key that made the signature. Throws 401, 429 or 503. An unknown project gets the same
   * answer in the same time.
   */
  private async identify(claim: Claim, asked: Asked): Promise<Identity> {
    const { source } = asked;
    const blockedSec = this.badSignatures.blockedSec(source);
    if (!UUID.test(claim.merchant)) throw this.refuse(source, claim);
    let entry = this.directory.cached(claim.merchant);
    const isFresh = entry === undefined;
    if (entry === undefined) {
      if (blockedSec > 0 && !this.directory.mayLoad(claim.merchant)) throw tooManyFailures(blockedSec);
      entry = await this.directory.load(claim.merchant);
    }
    const identity = identityIn(entry, claim);
    // The cache may be stale: a new project, key or right works immediately, even when its announcement was lost.
    if (identity !== undefined) return isFresh ? identity : this.newest(identity, entry, claim, asked);
    if (!isFresh && blockedSec === 0) {
      const again = await this.directory.reread(entry);
      const found = again === undefined ? undefined : identityIn(again, claim);
      if (found !== undefined) return found;
    }
    throw this.refuse(source, claim);
  }

  /**
   * Re-reads the project once before a refusal, in case the cached record is stale. Keeps the cached one while the
   * database is away.
   */
  private async newest(identity: Identity, entry: Entry, claim: Claim, asked: Asked): Promise<Identity> {
    const isMd5 = claim.nonce === undefined;
    const { project } = identity;
    if (refusalOf(identity, asked) === undefined && (!isMd5 || refusalOfMd5(project, asked.route) === undefined)) {
      return identity;
    }
    const again = await this.directory.reread(entry).catch(() => undefined);
    return (again === undefined ? undefined : identityIn(again, claim)) ?? identity;
  }

  /** Returns the check of a long-lived request, which retains only the data that it needs. */
  private judgeOf({ project, secret }: Identity, isHmac: boolean, asked: Asked): (ageMs: number) => Promise<void> {
    const { id } = project.record;
    const { text } = secret;
    return async (ageMs) => {
      const entry = this.directory.cached(id, ageMs) ?? (await this.directory.load(id));
      const same = entry.secrets.find((each) => each.text === text && isInUse(each)) as KnownSecret | undefined;
      const identity = identityOf(entry, same, isHmac);
      if (identity === undefined) throw invalidSignature(isHmac);
      requireAllowed(identity, asked);
    };
  }

  private refuse(source: string, { nonce }: Claim): ApiError {
    const blockedSec = this.badSignatures.count(source);
    return blockedSec > 0 ? tooManyFailures(blockedSec) : invalidSignature(nonce !== undefined);
  }

  private async spend(name: BudgetName, project: KnownProject, response: Response): Promise<void> {
    const budget = await this.rateLimit.take(name, project.record.id);
    response.setHeader('RateLimit-Limit', budget.limit);
    response.setHeader('RateLimit-Remaining', budget.remaining);
    response.setHeader('RateLimit-Reset', budget.resetSec);
    if (budget.isSpent) {
      throw new ApiError('RATE_LIMITED', `${COUNTED[name]} are limited to ${budget.limit.toString()} per minute.`, {
        retryAfterSec: budget.resetSec,
      });
    }
  }
}

/** Returns the signer. Without a valid signature or project, returns undefined after the same work. */
function identityIn(entry: Entry, claim: Claim): Identity | undefined {
  return identityOf(entry, claim.secretIn(entry), claim.nonce !== undefined);
}

function identityOf({ project }: Entry, secret: KnownSecret | undefined, isHmac: boolean): Identity | undefined {
  if (project === undefined || secret === undefined) return undefined;
  // A project that takes only MD5 accepts no HMAC.
  if (isHmac && project.record.signatureSchemes === 'md5') return undefined;
  return { project, secret };
}

/** Returns the 403 for a request that the project or key may not make, or not from this address. */
function refusalOf({ project, secret: { key } }: Identity, { route, source }: Asked): ApiError | undefined {
  if (project.record.isFrozen) {
    return new ApiError('PROJECT_FROZEN', 'This project is frozen. Contact the operator.');
  }
  if (!key.scopes.has(route.scope)) {
    return new ApiError('KEY_SCOPE', `This API key lacks the scope ${route.scope}. Use a key with this scope.`);
  }
  if (project.sources?.has(source) === false || key.sources?.has(source) === false) {
    return new ApiError('SOURCE_NOT_ALLOWED', 'This address is not allowed for this project or API key.');
  }
  return undefined;
}

function requireAllowed(identity: Identity, asked: Asked): void {
  const refusal = refusalOf(identity, asked);
  if (refusal !== undefined) throw refusal;
}

/** MD5 covers neither path nor method. It is accepted only on the older paths, and for projects that allow it. */
function refusalOfMd5({ record }: KnownProject, route: Route): ApiError | undefined {
  if (route.acceptsMd5 && record.signatureSchemes !== 'hmac') return undefined;
  const what = route.acceptsMd5 ? 'This project' : 'This path';
  return new ApiError('HMAC_REQUIRED', `${what} accepts only HMAC signatures. Send X-CC-Signature.`);
}

function requireMd5(project: KnownProject, route: Route): void {
  const refusal = refusalOfMd5(project, route);
  if (refusal !== undefined) throw refusal;
}

/** Names the common mistakes of the scheme that the caller used: only the MD5 signature depends on the order of keys. */
function invalidSignature(isHmac: boolean): ApiError {
  return new ApiError(
    'INVALID_SIGNATURE',
    isHmac
      ? 'X-CC-Signature does not match the request as it arrived and the API key of this merchant. Common causes are ' +
          'a body that was serialised again after it was signed, another path or query, and another API key.'
      : 'The signature does not match the body and the API key of this merchant. Common causes are unsorted keys ' +
          'and a body that changed after it was signed.',
  );
}

function tooManyFailures(retryAfterSec: number): ApiError {
  return new ApiError(
    'RATE_LIMITED',
    'Too many requests from this address had a wrong signature. Wait before you try again.',
    { retryAfterSec },
  );
}
