#!/usr/bin/env node
import '../platform/runtime/node-version';
import '../platform/runtime/v8-flags';
import 'reflect-metadata';
import { runAnimalStoreCommand } from './program';

const FIRST_ARGUMENT = 2;

// The reader of our output can stop early, as `head` does.
process.stdout.on('error', () => process.exit());

async function main(): Promise<void> {
  process.exitCode = await runAnimalStoreCommand(process.argv.slice(FIRST_ARGUMENT));
}

void main();
