#!/usr/bin/env node
import '../platform/runtime/prepare-process';
import { runAnimalStoreCommand } from './program';

const [, , ...args] = process.argv;

void runAnimalStoreCommand(args).then((status) => (process.exitCode = status));
