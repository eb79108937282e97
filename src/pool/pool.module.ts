import { Module } from '@nestjs/common';
import { Signer } from '../chain/keys.js';
import { Keyring } from './keyring.js';
import { PoolSync } from './pool-sync.js';

@Module({ providers: [{ provide: Signer, useClass: Keyring }, PoolSync], exports: [Signer, PoolSync] })
export class PoolModule {}
