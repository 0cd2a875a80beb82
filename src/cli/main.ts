#!/usr/bin/env node
import '../platform/runtime/prepare-process';
import { runAnimalStoreCommand } from './program';

// The reader of our output can stop early, as `head` does. Then `verify` still removes what it created, as after Ctrl-C.
let isRead = true;
process.stdout.on('error', () => {
  if (isRead && !process.emit('SIGINT', 'SIGINT')) process.exit();
  isRead = false;
});

const [, , ...args] = process.argv;

void runAnimalStoreCommand(args).then((status) => (process.exitCode = status));
