/**
 * Replaces ReceiverCheck where no node is available. The worker detects a receiver that the chain refuses before it
 * buys anything, and pauses the auto-delegation with that reason.
 */
import { Injectable } from '@nestjs/common';
import type { ApiError } from '../../domain/errors.js';
import type { ReceiverCheck } from '../orders/receiver.js';
import { testAddressRefusal } from '../quotes/test-receivers.js';

@Injectable()
export class OfflineReceiverCheck implements Pick<ReceiverCheck, 'refusalOf'> {
  async refusalOf(address: string): Promise<ApiError | undefined> {
    return Promise.resolve(testAddressRefusal(address, false));
  }
}
