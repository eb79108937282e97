/** Wires the reading of solid blocks, what enough nodes say of them, and how far they are read. */
import { Module } from '@nestjs/common';
import { BlockCursor } from './block-cursor.js';
import { SolidBlocks } from './solid-blocks.js';
import { WitnessedBlocks } from './witnessed-blocks.js';

@Module({
  providers: [BlockCursor, SolidBlocks, WitnessedBlocks],
  exports: [BlockCursor, SolidBlocks, WitnessedBlocks],
})
export class BlocksModule {}
