/** Wires the reading of solid blocks, the agreement of nodes on them, and the cursor. */
import { Module } from '@nestjs/common';
import { BlockCursor } from './block-cursor.js';
import { SolidBlocks } from './solid-blocks.js';
import { WitnessedBlocks } from './witnessed-blocks.js';

@Module({
  providers: [BlockCursor, SolidBlocks, WitnessedBlocks],
  exports: [BlockCursor, SolidBlocks, WitnessedBlocks],
})
export class BlocksModule {}
