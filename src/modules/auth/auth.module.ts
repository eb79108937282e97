/** Wires authentication. Importing it puts the signature guard before every handler of the application. */
import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimit } from '../../platform/http/pipeline/rate-limit.js';
import { KeyUse } from './key-use.js';
import { Nonces } from './nonces.js';
import { OpenCalls } from './open-calls.js';
import { ProjectDirectory } from '../projects/project-directory.js';
import { RequestLog } from './request-log.js';
import { SignatureGuard } from './signature.guard.js';

@Module({
  providers: [
    ProjectDirectory,
    RateLimit,
    Nonces,
    KeyUse,
    OpenCalls,
    RequestLog,
    { provide: APP_GUARD, useClass: SignatureGuard },
  ],
  exports: [OpenCalls],
})
export class AuthModule {}
