/** Repeats the readings of wallets, and the checks of paused wallets. */
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Repeater } from '../../platform/support/repeat.js';
import { PoolSync } from '../pool/pool-sync.js';
import { WalletHealth } from './send/wallet-health.js';

/** Pause when no wallet was due to be read; shorter if wallets are read each second. */
const POOL_REST_MS = 500;
/** Interval of checks for paused wallets that can deliver again. */
const HEALTH_REST_MS = 1000;

@Injectable()
export class WalletLoops {
  private readonly poolRepeater: Repeater;
  private readonly healthRepeater: Repeater;

  constructor(sync: PoolSync, wallets: WalletHealth, { pool }: Config, log: Log) {
    const restMs = Math.min(POOL_REST_MS, pool.syncSec * 250);
    this.poolRepeater = new Repeater({
      run: async () => ((await sync.syncNext()) ? 0 : restMs),
      retryMs: 1000,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'failed to read a wallet');
      },
    });
    this.healthRepeater = new Repeater({
      run: async () => {
        await wallets.resumeWallets();
        return HEALTH_REST_MS;
      },
      retryMs: HEALTH_REST_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'failed to check wallets that cannot deliver');
      },
    });
  }

  start(): void {
    void this.poolRepeater.start();
    void this.healthRepeater.start();
  }

  /** Stops after the runs in progress, without waiting for them. */
  end(): void {
    this.poolRepeater.end();
    this.healthRepeater.end();
  }

  async stop(): Promise<void> {
    await Promise.all([this.poolRepeater.stop(), this.healthRepeater.stop()]);
  }
}
