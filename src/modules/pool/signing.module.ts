/** Wires the signer of pool wallets, for the worker only. */
import { Module } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Sealers } from '../../platform/support/sealers.js';
import { Signer } from '../../platform/chain/keys.js';
import { SocketSigner } from '../../platform/chain/socket-signer.js';
import { Config } from '../../platform/config/config.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { Keyring } from './keyring.js';

/** The signer process if the settings name its socket; otherwise the keys sealed in Postgres. */
function createSigner({ secrets }: Config, wallets: Repository<PoolWallet>, sealers: Sealers): Signer {
  return secrets.signerSocket === undefined ? new Keyring(wallets, sealers) : new SocketSigner(secrets.signerSocket);
}

@Module({
  imports: [TypeOrmModule.forFeature([PoolWallet])],
  providers: [{ provide: Signer, useFactory: createSigner, inject: [Config, getRepositoryToken(PoolWallet), Sealers] }],
  exports: [Signer],
})
export class SigningModule {}
