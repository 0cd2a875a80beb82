#!/usr/bin/env node
import '../platform/runtime/prepare-process';
import { runAnimalStoreCommand } from './program';

const FIRST_ARGUMENT = 2;

// The reader of our output can stop early, as `head` does. Then `verify` still removes what it created, as after Ctrl-C.
let isRead = true;
process.stdout.on('error', () => {
  if (isRead && !process.emit('SIGINT', 'SIGINT')) process.exit();
  isRead = false;
});

async function main(): Promise<void> {
  process.exitCode = await runAnimalStoreCommand(process.argv.slice(FIRST_ARGUMENT));
}

void main();
