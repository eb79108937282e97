/** Wires the reading of blocks by the word of enough nodes, and how far they are read. */
import { Module } from '@nestjs/common';
import { BlockCursor } from './block-cursor.js';
import { WitnessedBlocks } from './witnessed-blocks.js';

@Module({ providers: [BlockCursor, WitnessedBlocks], exports: [BlockCursor, WitnessedBlocks] })
export class BlocksModule {}
